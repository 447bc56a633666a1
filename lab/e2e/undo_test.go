// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// undone returns the document before a step, made from the one after it by the step's own reverse.
func (s *scenario) undone(step transform.Step) *yamledit.Document {
	s.Helper()
	text, err := yamledit.Apply(step.After.Bytes(), step.Reverse)
	if err != nil {
		s.Fatal(err)
	}
	if !bytes.Equal(text, step.Before.Bytes()) {
		s.Fatalf("undoing %s does not give back the same bytes", step.Stage.Name)
	}
	doc, err := yamledit.ParseString(step.Before.File(), string(text))
	if err != nil {
		s.Fatal(err)
	}
	return doc
}

// All stages forth, and back as far as the chart: the in-tree provider takes the Services again, and at no
// time are there two owners.
func TestStagesAreUndone(t *testing.T) {
	s := begin(t, "cp-1", "cp-2")
	s.join()
	plan := planned(t, document(t, "rke2.yaml"))
	for _, step := range plan.Steps {
		if step.Changes() {
			s.rollOut(s.wanted(step.After))
			s.gate(step.Stage.Name)
		}
	}
	if err := s.service(t.Context(), "external"); err != nil {
		t.Fatal(err)
	}
	s.served()

	for _, name := range []string{transform.DisableLeaderMigration, transform.SwitchToExternal, transform.InstallCCM} {
		step, _ := plan.Step(name)
		t.Log("undo", name)
		s.rollOut(s.wanted(s.undone(step)))
	}
	s.eventually("the migration lease with kube-controller-manager", func(ctx context.Context) bool { return s.holder(ctx) == cluster.KCM })
	if err := s.service(t.Context(), "in-tree"); err != nil {
		t.Fatal(err)
	}
	s.served()
	s.pen(cluster.CCM, cluster.KCM)
	s.end("undo")
}

// pen requires that the given components wrote to AWS in this order, and each when it was the one owner.
func (s *scenario) pen(order ...cluster.Component) {
	s.Helper()
	writes := s.cluster.AWS.Writes()
	var want []string
	for _, c := range order {
		want = append(want, string(c))
	}
	if turns := recorder.Turns(writes); !slices.Equal(turns, want) {
		s.Errorf("AWS was written to by %v, want %v", turns, want)
	}
	s.apart()
}

// apart requires that there were never two owners, and that whoever wrote to AWS was one then.
func (s *scenario) apart() {
	s.Helper()
	for _, controller := range []string{recorder.Service, recorder.Route} {
		if _, _, two := recorder.Seconds(s.timeline(controller, s.began)); two > 0 {
			s.Errorf("%s had two owners for %.1f s", controller, two)
		}
	}
	for _, stray := range recorder.Strays(s.timeline(recorder.Service, s.began), s.cluster.AWS.Writes(), time.Second) {
		s.Errorf("%s wrote %s without owning the controllers", stray.Caller, stray.Action)
	}
}
