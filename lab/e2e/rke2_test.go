// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// A real machine takes longer to restart than a takeover: the leader moves on from one to the next.
func TestStagesOfAnRKE2Cluster(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.agent.Pause = s.cluster.Timing.Takeover() + time.Second
	s.migrate(s.alongRKE2(planned(t, document(t, "rke2.yaml"))))
	s.end("rke2")
}

// With the provider's name kept, every component is made external by its own argument, and machines that
// follow each other at once are the harder case.
func TestStagesThatKeepTheProvidersName(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.migrate(s.alongRKE2(plannedFor(t, document(t, "rke2.yaml"), transform.Target{EndState: transform.EndStateOverride})))
	s.end("rke2-aws-override")
}

// nothing is what is done by hand where the files bring all that changes.
func nothing() {}

// alongRKE2 is one document after the other. What its stages also require is to observe.
func (s *scenario) alongRKE2(plan *plan.Plan) route {
	s.Helper()
	w := route{start: s.wanted(plan.Start[0])}
	for _, step := range plan.Steps {
		if !step.Changes() {
			continue
		}
		forward := change{nothing, func() agent.Wanted { return s.wanted(step.Documents[0].After) }, nothing}
		backward := change{nothing, func() agent.Wanted { return s.wanted(s.undone(step)) }, nothing}
		if step.Stage.Name == stages.GrantMigrationLease {
			backward.after = s.revoke
		}
		w.transitions = append(w.transitions, transition{step, forward, backward})
	}
	return w
}

// revoke takes the right to the lease away, as RKE2 deletes what leaves its manifests.
func (s *scenario) revoke() {
	s.Helper()
	assert.NilError(s, s.remove(metav1.NamespaceSystem, "role,rolebinding", leadermigration.Lease))
}
