// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/stages"
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
		{"not there yet", Check{AtLeast: stages.SwitchToExternal}, verify.Verdict{Reached: stages.InstallCCM}, []string{"stage-not-reached"}},
		{"there", Check{AtLeast: stages.SwitchToExternal}, verify.Verdict{Reached: stages.SwitchToExternal}, nil},
		{"further", Check{AtLeast: stages.SwitchToExternal}, verify.Verdict{Reached: stages.DisableLeaderMigration}, nil},
		{"still there", Check{AtMost: stages.EnableLeaderMigration}, verify.Verdict{Reached: stages.InstallCCM}, []string{"stage-not-reached"}},
		{"gone", Check{AtMost: stages.EnableLeaderMigration}, verify.Verdict{}, nil},
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
	end := Check{AtLeast: stages.DisableLeaderMigration}
	if open := end.Unmet(without, verify.Verdict{Reached: stages.GrantMigrationLease}); len(open) > 0 {
		t.Errorf("%v", open)
	}
	off := &observation.Observation{DaemonSets: []observation.DaemonSet{{Args: []string{"--enable-leader-migration=false"}}}}
	if open := end.Unmet(off, verify.Verdict{Reached: stages.GrantMigrationLease}); len(open) > 0 {
		t.Errorf("the flag is off: %v", open)
	}
	if open := end.Unmet(with, verify.Verdict{Reached: stages.SwitchToExternal}); len(open) != 1 {
		t.Errorf("a flag is left, and %v", open)
	}
	back := Check{AtMost: stages.GrantMigrationLease}
	dead := verify.Verdict{Reached: stages.EnableLeaderMigration, Lease: verify.Lease{Life: observation.Dead}}
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
	for _, name := range stages.Names() {
		if c := w.After(name); c.NodesOnly || c.Stage != name || c.AtLeast == "" || c.AtMost != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, c := range []struct {
		name      string
		got, want Check
	}{
		{"leader migration is kept", keep.After(stages.DisableLeaderMigration), Check{Stage: stages.DisableLeaderMigration, AtLeast: stages.SwitchToExternal}},
		{"the short way overlaps", short.After(stages.InstallCCM), Check{NodesOnly: true}},
		{"and has no lease", short.After(stages.SwitchToExternal), Check{Stage: stages.VerifyProviderIDs, AtLeast: stages.SwitchToExternal}},
		{"the switch undone", w.Undone(stages.SwitchToExternal), Check{}},
		{"the chart undone", w.Undone(stages.InstallCCM), Check{Stage: stages.EnableLeaderMigration, AtMost: stages.EnableLeaderMigration}},
		{"the flag undone", w.Undone(stages.EnableLeaderMigration), Check{Stage: stages.GrantMigrationLease, AtMost: stages.GrantMigrationLease}},
		{"the end undone", w.Undone(stages.DisableLeaderMigration), Check{Stage: stages.SwitchToExternal, AtLeast: stages.SwitchToExternal, AtMost: stages.SwitchToExternal}},
		{"the chart, some time later", w.Resumed(stages.InstallCCM), Check{Stage: stages.InstallCCM, AtLeast: stages.InstallCCM, Either: true}},
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
	for _, name := range append([]string{""}, stages.Names()...) {
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
