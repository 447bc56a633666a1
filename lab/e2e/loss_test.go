// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The machine of the leader is lost when everything is ready for the switch. A cloud-controller-manager
// that waits takes over early; where the lost machine had that too, whoever first wins its main lease does.
// The switch continues with the machines that are left.
func TestTheLeadersMachineIsLostBeforeTheSwitch(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.join()
	plan := planned(t, document(t, "rke2.yaml"))
	for _, stage := range []string{stages.EnableLeaderMigration, stages.InstallCCM} {
		s.rollOut(at(s, plan, stage))
		s.gate(stage)
	}
	s.leads(cluster.CCM)
	assert.NilError(t, s.service(t.Context(), "before"))
	s.served()

	lost := time.Now()
	s.agent.Lose(s.leader())
	s.eventually("an owner", func(context.Context) bool { return s.owner() != "" })
	s.rollOut(at(s, plan, stages.SwitchToExternal))
	assert.NilError(t, s.service(t.Context(), "after"))
	s.served()
	s.writers(cluster.KCM, cluster.CCM)
	if gap := recorder.LongestGap(s.timeline(recorder.Service, lost)); gap > 2*(s.cluster.Timing.Takeover()+s.slack()) {
		s.Errorf("no manager owned the controllers for %s", gap)
	}
	s.end("leader-lost")
}

// leader returns the machine whose kube-controller-manager owns the controllers now.
func (s *scenario) leader() string {
	s.Helper()
	owners := s.owners()
	managers := s.cluster.Managers()
	i := slices.IndexFunc(managers, func(m *cluster.Manager) bool {
		return m.Component == cluster.KCM && slices.Contains(owners, m.Caller())
	})
	if i < 0 {
		s.Fatal("no kube-controller-manager owns the controllers")
	}
	return managers[i].Machine
}
