// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

func rulesOf(list []transform.Finding) []string {
	var ids []string
	for _, f := range list {
		ids = append(ids, f.Rule)
	}
	return ids
}

func TestACheckIsOpenUntilTheManagersShowTheStage(t *testing.T) {
	seen := &observation.Observation{Managers: []observation.Manager{{Component: observation.KubeManager}}}
	stops := transform.Finding{Rule: "x", Severity: transform.Error}
	wrong := transform.Finding{Rule: "lease-wrong-owner", Severity: transform.Error}
	for _, c := range []struct {
		name  string
		check Check
		v     verify.Verdict
		want  []string
	}{
		{"nothing but nodes to look at", Check{NodesOnly: true}, verify.Verdict{Findings: []transform.Finding{stops}}, nil},
		{"a finding", Check{}, verify.Verdict{Findings: []transform.Finding{stops, {Rule: "w", Severity: transform.Warning}}}, []string{"x"}},
		{"a node that is not ready is the cause", Check{}, verify.Verdict{Findings: []transform.Finding{stops, {Rule: verify.NodeNotReady, Severity: transform.Error}}}, []string{verify.NodeNotReady, "x"}},
		{"an accepted one", Check{}, verify.Verdict{Findings: []transform.Finding{{Rule: "x", Severity: transform.Error, Accepted: true}}}, nil},
		{"not there yet", Check{AtLeast: transform.SwitchToExternal}, verify.Verdict{Reached: transform.InstallCCM}, []string{"stage-not-reached"}},
		{"there", Check{AtLeast: transform.SwitchToExternal}, verify.Verdict{Reached: transform.SwitchToExternal}, nil},
		{"further", Check{AtLeast: transform.SwitchToExternal}, verify.Verdict{Reached: transform.DisableLeaderMigration}, nil},
		{"still there", Check{AtMost: transform.EnableLeaderMigration}, verify.Verdict{Reached: transform.InstallCCM}, []string{"stage-not-reached"}},
		{"gone", Check{AtMost: transform.EnableLeaderMigration}, verify.Verdict{}, nil},
		{"the wrong owner", Check{}, verify.Verdict{Findings: []transform.Finding{wrong}}, []string{"lease-wrong-owner"}},
		{"either owner", Check{Either: true}, verify.Verdict{Findings: []transform.Finding{wrong}}, nil},
	} {
		if got := rulesOf(c.check.Unmet(seen, c.v)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestNodesAloneAreOpenWhereAControlPlaneIsNotReady(t *testing.T) {
	node := func(name, ready string, labels ...string) observation.Node {
		n := observation.Node{Name: name, Labels: map[string]string{}, Ready: &observation.Condition{Status: ready}}
		for _, l := range labels {
			n.Labels[l] = "true"
		}
		return n
	}
	seen := &observation.Observation{
		Nodes: []observation.Node{node("a", "True", "node-role.kubernetes.io/control-plane"), node("b", "Unknown", "node-role.kubernetes.io/controlplane"), node("w", "False")},
		// The worker was ready before: it stops a migration, and never a way back.
		Before: &observation.Snapshot{Nodes: []observation.NodeIdentity{{Name: "w", Ready: true}}},
	}
	for _, accept := range []string{"", verify.NodeNotReady} {
		c := Check{NodesOnly: true}
		open := c.Unmet(seen, verify.Evaluate(seen, c.Choice(transform.Target{}, []string{accept})))
		if accept == "" && (len(open) != 1 || open[0].Path != "nodes/b") || accept != "" && len(open) > 0 {
			t.Errorf("accepted %q: %+v", accept, open)
		}
	}
}

func TestWhereTheManagerIsNoPodTheOtherOneTells(t *testing.T) {
	with := &observation.Observation{DaemonSets: []observation.DaemonSet{{Args: []string{"--enable-leader-migration=true"}}}}
	without := &observation.Observation{DaemonSets: []observation.DaemonSet{{}}}
	end := Check{AtLeast: transform.DisableLeaderMigration}
	if open := end.Unmet(without, verify.Verdict{Reached: transform.GrantMigrationLease}); len(open) > 0 {
		t.Errorf("%v", open)
	}
	off := &observation.Observation{DaemonSets: []observation.DaemonSet{{Args: []string{"--enable-leader-migration=false"}}}}
	if open := end.Unmet(off, verify.Verdict{Reached: transform.GrantMigrationLease}); len(open) > 0 {
		t.Errorf("the flag is off: %v", open)
	}
	if open := end.Unmet(with, verify.Verdict{Reached: transform.SwitchToExternal}); len(open) != 1 {
		t.Errorf("a flag is left, and %v", open)
	}
	back := Check{AtMost: transform.GrantMigrationLease}
	dead := verify.Verdict{Reached: transform.EnableLeaderMigration, Lease: verify.Lease{Life: observation.Dead}}
	if open := back.Unmet(&observation.Observation{}, dead); len(open) > 0 {
		t.Errorf("the record of a dead holder: %v", open)
	}
	dead.Lease.Life = observation.Live
	if open := back.Unmet(&observation.Observation{}, dead); len(open) != 1 {
		t.Errorf("somebody holds it, and %v", open)
	}
}

func TestEveryStageHasWhatHoldsBehindItThereAndBack(t *testing.T) {
	w, keep, short := Planner{}, Planner{Target: transform.Target{KeepLeaderMigration: true}}, Planner{Target: transform.Target{NoLeaderMigration: true}}
	for _, name := range transform.StageNames() {
		if c := w.After(name); c.NodesOnly || c.Stage != name || c.AtLeast == "" || c.AtMost != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, c := range []struct {
		name      string
		got, want Check
	}{
		{"leader migration is kept", keep.After(transform.DisableLeaderMigration), Check{Stage: transform.DisableLeaderMigration, AtLeast: transform.SwitchToExternal}},
		{"the short way overlaps", short.After(transform.InstallCCM), Check{NodesOnly: true}},
		{"and has no lease", short.After(transform.SwitchToExternal), Check{Stage: transform.VerifyProviderIDs, AtLeast: transform.SwitchToExternal}},
		{"the switch undone", w.Undone(transform.SwitchToExternal), Check{}},
		{"the chart undone", w.Undone(transform.InstallCCM), Check{Stage: transform.EnableLeaderMigration, AtMost: transform.EnableLeaderMigration}},
		{"the flag undone", w.Undone(transform.EnableLeaderMigration), Check{Stage: transform.GrantMigrationLease, AtMost: transform.GrantMigrationLease}},
		{"the end undone", w.Undone(transform.DisableLeaderMigration), Check{Stage: transform.SwitchToExternal, AtLeast: transform.SwitchToExternal, AtMost: transform.SwitchToExternal}},
		{"the chart, some time later", w.Resumed(transform.InstallCCM), Check{Stage: transform.InstallCCM, AtLeast: transform.InstallCCM, Either: true}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v", c.name, c.got)
		}
	}
}

func TestANodeUnderAnotherNameAndANewOneAreHopeless(t *testing.T) {
	if Hopeless([]transform.Finding{{Rule: "node-renamed", Severity: transform.Error, Accepted: true}, {Rule: "x", Severity: transform.Error}}) {
		t.Error("what is accepted stops nothing")
	}
	for _, rule := range []string{"node-renamed", "node-new"} {
		if !Hopeless([]transform.Finding{{Rule: rule, Severity: transform.Error}}) {
			t.Errorf("%s does not pass", rule)
		}
	}
}

func TestHowAClusterStandsIsSaidForEveryStage(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range append([]string{""}, transform.StageNames()...) {
		seen[Holds(name)] = true
		texts := map[string]bool{Holds(name): true}
		for _, e := range []Edit{NotWritten, MayBeWritten, Written} {
			texts[Between(name, "next", e)] = true
		}
		if Between(name, "next", NotWritten) != Holds(name) || len(texts) != 3 {
			t.Errorf("%q: %v", name, texts)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d sentences", len(seen))
	}
}
