// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The cloud-controller-manager has the Services, and the in-tree provider takes them again.
func TestStagesAreUndoneFromTheSwitch(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.forwardAndBack(s.alongRKE2(planned(t, document(t, "rke2.yaml"))), stages.SwitchToExternal)
	s.end("undo-switch")
}

// The in-tree provider has the Services under the migration lease, and keeps them without it.
func TestStagesAreUndoneFromTheFlag(t *testing.T) {
	s := begin(t, "cp-1", "cp-2")
	s.forwardAndBack(s.alongRKE2(planned(t, document(t, "rke2.yaml"))), stages.EnableLeaderMigration)
	s.end("undo-enable")
}

// The chart and its objects go as they came. The soak has this for every stage.
func TestStagesOfAnRKE1ClusterAreUndone(t *testing.T) {
	s := alone(t)
	s.forwardAndBack(s.alongRKE1(newerTarget), stages.DisableLeaderMigration)
	s.end("undo-rke1")
}

// The manager leaves the kubelet's folder, and files that were removed are put back.
func TestStagesOfManifestsAreUndone(t *testing.T) {
	s := alone(t)
	s.forwardAndBack(s.alongManifests(newerManifest(t)), stages.DisableLeaderMigration)
	s.end("undo-manifest")
}

// alone begins a scenario on one control plane, which the soak has on three.
func alone(t *testing.T) *scenario {
	t.Helper()
	if soaks() {
		t.Skip("is done from every stage")
	}
	return begin(t, "cp-1")
}

// forwardAndBack takes the control planes through the stages up to one, and back to where they were, under
// load all the while.
func (s *scenario) forwardAndBack(w route, last string) {
	s.Helper()
	n := slices.IndexFunc(w.transitions, func(tr transition) bool { return tr.step.Stage.Name == last }) + 1
	if n == 0 {
		s.Fatal("no stage", last)
	}
	s.underLoad(w.start, func() {
		for _, tr := range w.transitions[:n] {
			s.forward(tr)
		}
		for _, tr := range slices.Backward(w.transitions[:n]) {
			s.backward(tr)
		}
	})
	s.wroteInOrder(w.transitions[:n])
}

// wroteInOrder requires that one manager after the other wrote to AWS, the in-tree provider at last, and that
// no one owned the controllers for no longer than takeovers take.
func (s *scenario) wroteInOrder(of []transition) {
	s.Helper()
	order := []cluster.Component{cluster.KCM}
	if slices.ContainsFunc(of, func(tr transition) bool { return tr.step.Stage.Name == stages.SwitchToExternal }) {
		order = []cluster.Component{cluster.KCM, cluster.CCM, cluster.KCM}
	}
	s.writers(order...)
	s.shortGaps()
}

// backward undoes one stage.
func (s *scenario) backward(tr transition) {
	s.Helper()
	s.Log("undo", tr.step.Stage.Name)
	s.make(tr.backward)
	s.gateBack(tr.step.Stage.Name)
	tr.backward.after()
}

// gateBack waits for what the next stage that is undone builds on.
func (s *scenario) gateBack(stage string) {
	s.Helper()
	switch stage {
	case stages.DisableLeaderMigration:
		s.eventually("the migration lease with cloud-controller-manager", func(ctx context.Context) bool { return s.holder(ctx) == cluster.CCM })
	case stages.SwitchToExternal: // the lease stays with whoever has it
		s.leads(cluster.KCM)
	case stages.InstallCCM:
		s.eventually("the migration lease with kube-controller-manager", func(ctx context.Context) bool { return s.holder(ctx) == cluster.KCM })
	case stages.EnableLeaderMigration, stages.GrantMigrationLease:
		s.eventually("an in-tree owner", func(context.Context) bool { return s.owner() == cluster.KCM })
	}
}

// undone returns the document before a step, made from the one after it by the step's own reverse.
func (s *scenario) undone(step plan.Step) *yamledit.Document {
	s.Helper()
	text := assert.Value(yamledit.Apply(step.After()[0].Bytes(), step.Documents[0].Reverse))(s)
	if !bytes.Equal(text, step.Before()[0].Bytes()) {
		s.Fatalf("undoing %s does not give back the same bytes", step.Stage.Name)
	}
	doc := assert.Value(yamledit.ParseString(step.Before()[0].File(), string(text)))(s)
	return doc
}
