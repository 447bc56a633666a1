// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func notReached(o *observed.Observation, c stages.Check) []transform.Finding {
	return ofRule(idStageNotReached, o, Choice{Check: c})
}

func idsOf(list []transform.Finding) []string {
	ids := lists.Map(list, func(f transform.Finding) string { return f.Rule })
	return ids
}

func TestNodesThatAreNotReadyAreNamedFirstAndWhatTheManagersShowLast(t *testing.T) {
	stops := func(rule string) transform.Finding {
		return transform.Finding{Rule: rule, Severity: transform.Error}
	}
	accepted := stops("x")
	accepted.Accepted = true
	v := Verdict{Findings: []transform.Finding{stops("a"), accepted, stops(idNodeNotReady), stops(idLoadBalancerPending), stops(idStageNotReached), stops("cloud-controllers-twice"), stops("cloud-controllers-nowhere"), stops("lease-rbac-missing"), {Rule: "w", Severity: transform.Warning}}}
	assert.EqualSlices(t, idsOf(v.Unmet()), []string{idNodeNotReady, "a", "lease-rbac-missing", "cloud-controllers-nowhere", idLoadBalancerPending, "cloud-controllers-twice", idStageNotReached})
}

func TestAStageIsNotReachedUntilTheManagersShowIt(t *testing.T) {
	kube, cloud, either := kubeLease(true), cloudLease(true), migration("k_1", true, 1)
	enabled, installed := scene(migrating, nil, kube, either), scene(migrating, waits, kube, cloud, either)
	switched := scene(external, waits, kube, cloud, migration("c_1", true, 1))
	finished := scene(external, quiet, kube, cloud)
	for _, c := range []struct {
		name  string
		o     *observed.Observation
		check stages.Check
		want  string
	}{
		{"nothing is asked", enabled, stages.Check{}, ""},
		{"not there yet", installed, stages.Check{AtLeast: stages.SwitchToExternal}, "the managers do not show the result of switch-to-external yet"},
		{"there", switched, stages.Check{AtLeast: stages.SwitchToExternal}, ""},
		{"further", finished, stages.Check{AtLeast: stages.SwitchToExternal}, ""},
		{"still there", installed, stages.Check{AtMost: stages.EnableLeaderMigration}, "the managers still show the result of install-ccm"},
		{"gone", enabled, stages.Check{AtMost: stages.EnableLeaderMigration}, ""},
	} {
		found := notReached(c.o, c.check)
		assert.Truef(t, (c.want != "" || len(found) == 0) && (c.want == "" || len(found) == 1 && found[0].Message == c.want), "%s: %+v", c.name, found)
	}
	found := notReached(&observed.Observation{Partial: true}, stages.Check{AtLeast: stages.SwitchToExternal})
	assert.Truef(t, len(found) == 0, "pods were not seen: %+v", found)
}

func TestNodesAloneAreUnmetWhereAControlPlaneIsNotReady(t *testing.T) {
	node := func(name, ready string, labels ...string) observed.Node {
		n := observed.Node{Name: name, Labels: map[string]string{}, Ready: &observed.Condition{Status: ready}}
		for _, l := range labels {
			n.Labels[l] = "true"
		}
		return n
	}
	seen := &observed.Observation{
		Nodes: []observed.Node{node("a", "True", "node-role.kubernetes.io/control-plane"), node("b", "Unknown", "node-role.kubernetes.io/controlplane"), node("w", "False")},
		// The worker was ready before: it stops a migration, and never a rollback.
		Before: &observed.Snapshot{Nodes: []observed.NodeIdentity{{Name: "w", Ready: true}}},
	}
	for _, accept := range []string{"", idNodeNotReady} {
		c := Choice{Check: stages.Check{NodesOnly: true}, Accept: []string{accept}}
		open := Evaluate(seen, c).Unmet()
		assert.Truef(t, (accept != "" || len(open) == 1 && open[0].Path == "nodes/b") && (accept == "" || len(open) == 0), "accepted %q: %+v", accept, open)
		assert.True(t, !Unsettled(seen, c), "nodes show at once what they need")
	}
}

func TestWhereTheManagerIsNoPodTheOtherOneShowsTheStage(t *testing.T) {
	set := func(list ...string) []observed.DaemonSet { return []observed.DaemonSet{{Args: list}} }
	dead := []observed.Lease{kubeLease(true), migration("k_1", true, 90)}
	held := []observed.Lease{kubeLease(true), migration("k_1", true, 1)}
	end, back := stages.After(stages.DisableLeaderMigration, transform.Target{}), stages.Undone(stages.EnableLeaderMigration, transform.Target{})
	for _, c := range []struct {
		name  string
		o     observed.Observation
		check stages.Check
		met   bool
	}{
		{"no flag is left", observed.Observation{DaemonSets: set()}, end, true},
		{"the flag is off", observed.Observation{DaemonSets: set("--enable-leader-migration=false")}, end, true},
		{"a flag is left", observed.Observation{DaemonSets: set("--enable-leader-migration=true"), Leases: []observed.Lease{cloudLease(true), migration("c_1", true, 1)}}, end, false},
		{"the record of a dead holder", observed.Observation{Leases: dead}, back, true},
		{"another manager holds it", observed.Observation{Leases: held}, back, false},
	} {
		found := notReached(&c.o, c.check)
		assert.Truef(t, (len(found) == 0) == c.met, "%s: %+v", c.name, found)
	}
}

// install-ccm adds a manager whose leases are short.
func TestShortLeasesNeedTheTimingsOfEveryKubeControllerManager(t *testing.T) {
	c := Choice{Check: stages.Check{Stage: stages.EnableLeaderMigration, ShortLeases: true}}
	unsafe := func(args []string, c Choice) []transform.Finding {
		o := scene(args, nil, kubeLease(true), migration("k_1", true, 1))
		o.Version = "v1.26.15"
		return slices.DeleteFunc(Evaluate(o, c).Findings, func(f transform.Finding) bool { return f.Rule != rules.LeaseTimingsUnsafe.ID })
	}
	short := append(slices.Clone(migrating), "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s")
	assert.Equal(t, len(unsafe(migrating, c)), 1, "the default timings")
	assert.Equal(t, len(unsafe(short, c)), 0, "theirs")
	assert.Equal(t, len(unsafe(migrating, Choice{})), 0, "without the option")
	c.Given = []Given{{From: "status.appliedSpec of c-heron", Args: append([]string{"kube-controller-manager"}, migrating...)}}
	assert.Equal(t, len(unsafe(nil, c)), 1, "no pod, and the arguments that Rancher applied")
}
