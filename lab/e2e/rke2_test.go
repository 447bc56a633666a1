// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
)

// A real machine takes longer to restart than a takeover: the leader moves on from one to the next.
func TestStagesOfAnRKE2Cluster(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.agent.Pause = s.cluster.Timing.Takeover() + time.Second
	s.migrateRKE2(planned(t, document(t, "rke2.yaml")))
	s.end("rke2")
}

// With the provider's name kept, every component is made external by its own argument, and machines that
// follow each other at once are the harder case.
func TestStagesThatKeepTheProvidersName(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.migrateRKE2(plannedFor(t, document(t, "rke2.yaml"), transform.Target{EndState: transform.EndStateOverride}))
	s.end("rke2-aws-override")
}

// migrateRKE2 rolls out one document after the other. What its stages ask for beside that is to look.
func (s *scenario) migrateRKE2(plan *transform.Plan) {
	s.Helper()
	var legs []leg
	for _, step := range plan.Steps {
		if step.Changes() {
			legs = append(legs, leg{step, func() {}, func() agent.Wanted { return s.wanted(step.After) }, func() {}})
		}
	}
	s.migrate(s.wanted(plan.Start), legs)
}
