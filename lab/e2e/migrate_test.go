// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// route is the stages of a cluster, in their order.
type route struct {
	start       agent.Wanted
	transitions []transition
}

// transition is one stage as it reaches the control planes, and the same when it is undone.
type transition struct {
	step              plan.Step
	forward, backward change
}

// change is what the files require next, and what is done by hand around it.
type change struct {
	before func()              // what is done by hand before the machines follow
	wanted func() agent.Wanted // what the files require then
	after  func()              // what is done by hand when they have followed
}

// migrate drives the control planes through the stages as planned, one machine at a time, under load.
func (s *scenario) migrate(w route) {
	s.Helper()
	s.underLoad(w.start, func() {
		for _, tr := range w.transitions {
			s.forward(tr)
		}
	})
	if s.left == 0 {
		s.Error("no machine joined with an external provider")
	}
	s.oneOwner()
}

// underLoad makes Services and lets machines join while the control planes change, and requires that every
// Service was served and every machine initialised.
func (s *scenario) underLoad(start agent.Wanted, change func()) {
	s.Helper()
	instances := []aws.Instance{s.join(), s.join()}
	s.rollOut(start)
	assert.NilError(s, s.service(s.Context(), "first"))
	s.served()

	stop := s.traffic(s.cluster.Timing.Takeover() / 6)
	s.agent.Follow = func(string) { instances = append(instances, s.join()) }
	change()
	instances = append(instances, s.join())
	stop()

	s.Log("Services served:", s.served(), "machines:", len(instances), "of them left to the cloud-controller-manager:", s.left)
	s.initialised(instances)
}

// forward takes the control planes through one stage.
func (s *scenario) forward(tr transition) {
	s.Helper()
	name := tr.step.Stage.Name
	if tr.step.State != plan.Todo && tr.step.State != plan.ActionOnly {
		s.Fatalf("stage %s is %s: %v", name, tr.step.State, tr.step.Findings)
	}
	s.Log("stage", name)
	s.make(tr.forward)
	s.gate(name)
	tr.forward.after()
}

// make lets the control planes follow a change.
func (s *scenario) make(c change) {
	s.Helper()
	c.before()
	w := c.wanted()
	s.external = w.External
	s.rollOut(w)
}

// gate waits for what the next stage builds on.
func (s *scenario) gate(stage string) {
	s.Helper()
	switch stage {
	case stages.EnableLeaderMigration:
		s.eventually("the migration lease with kube-controller-manager", func(ctx context.Context) bool { return s.holder(ctx) == cluster.KCM })
	case stages.InstallCCM:
		s.leads(cluster.CCM)
	case stages.SwitchToExternal:
		s.eventually("the migration lease with cloud-controller-manager", func(ctx context.Context) bool { return s.holder(ctx) == cluster.CCM })
	case stages.DisableLeaderMigration:
		s.eventually("an owner without the migration lease", func(context.Context) bool { return s.owner() == cluster.CCM })
	}
}

// oneOwner requires that there were never two owners, that the handover between the managers took one takeover
// at most, and that AWS was written to by owners alone, first by one component and then by the other.
func (s *scenario) oneOwner() {
	s.Helper()
	s.writers(cluster.KCM, cluster.CCM)
	s.shortGaps()
	if gap, most := s.handover(), s.cluster.Timing.Takeover()+s.slack(); gap > most {
		s.Errorf("the handover took %s, more than %s", gap, most)
	}
}

// handover returns how long it took from the last in-tree owner to the first external one. It comes after the
// switch, or before where the leader lost its lease.
func (s *scenario) handover() time.Duration {
	s.Helper()
	timeline := s.timeline(recorder.Service, s.began)
	owns := func(c cluster.Component) func(recorder.Interval) bool {
		return func(i recorder.Interval) bool {
			return slices.ContainsFunc(i.Owners, func(owner string) bool { return recorder.ComponentOf(owner) == c })
		}
	}
	last := -1
	for n, i := range timeline {
		if owns(cluster.KCM)(i) {
			last = n
		}
	}
	next := slices.IndexFunc(timeline[last+1:], owns(cluster.CCM))
	if last < 0 || next < 0 {
		s.Error("the cloud-controller-manager never took over")
		return 0
	}
	return timeline[last+1+next].From.Sub(timeline[last].To)
}
