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
	"github.com/rke-lm/rke-lm/transform/stages"
)

func unchecked(o *observed.Observation, stage string) (all, needed []string) {
	for _, n := range Evaluate(o, Choice{Check: stages.After(stage, transform.Target{})}).NotChecked {
		all = append(all, n.Rule)
		if n.Needed {
			needed = append(needed, n.Rule)
		}
	}
	return all, needed
}

// A rule that sees nothing says so, but for those about what most clusters do not
// have, or what no one asked for.
func TestEveryRuleSaysThatItHadNothingToCheck(t *testing.T) {
	all, needed := unchecked(&observed.Observation{Partial: true}, "")
	for _, r := range Rules() {
		got := slices.Contains(all, r.ID)
		assert.Truef(t, got != (r.ID == "cluster-not-settled" || r.ID == idStageNotReached), "%s: %t", r.ID, got)
	}
	assert.Truef(t, len(needed) == 0, "no stage was asked for, and needed are %v", needed)
}

// What was looked at and is not there is checked. A kube-controller-manager always runs, so one that no pod shows is unseen.
func TestNothingIsNotTheSameAsUnseen(t *testing.T) {
	all, _ := unchecked(&observed.Observation{}, "")
	assert.EqualSlices(t, all, []string{"lease-timings-unsafe", "load-balancer-changed", "node-new", "node-renamed"})
	all, _ = unchecked(&observed.Observation{Before: &observed.Snapshot{}}, "")
	assert.EqualSlices(t, all, []string{"lease-timings-unsafe"}, "with a snapshot")
}

// Each stage is shown by something, and without that it is not ok.
func TestNoStageIsOKWithoutItsEvidence(t *testing.T) {
	node := observed.Node{Name: "a", ProviderID: "aws:///eu-west-1a/i-5b1c8f62", Ready: &observed.Condition{Status: "True"},
		Labels: map[string]string{observed.InstanceTypeLabel: "m5.large", observed.RegionLabel: "eu-west-1"}}
	for _, stage := range stages.Names() {
		for name, o := range map[string]*observed.Observation{
			"nothing was seen": {Partial: true},
			"one node":         {Partial: true, Kinds: []string{observed.Nodes}, Nodes: []observed.Node{node}},
		} {
			if stage == stages.UncordonControlPlane && name == "one node" {
				continue // it needs the leases, see below
			}
			v := Evaluate(o, Choice{Check: stages.After(stage, transform.Target{})})
			assert.Truef(t, !v.OK(), "%s, %s: %+v", stage, name, v.NotChecked)
		}
	}
	o := &observed.Observation{Partial: true, Kinds: []string{observed.Nodes}, Nodes: []observed.Node{node}}
	_, needed := unchecked(o, stages.UncordonControlPlane)
	assert.True(t, slices.Contains(needed, "lease-wrong-holder"), needed)
	accept := lists.Map(Rules(), func(r transform.Rule) string { return r.ID })
	v := Evaluate(o, Choice{Check: stages.After(stages.SwitchToExternal, transform.Target{}), Accept: accept})
	assert.Truef(t, v.OK(), "all is accepted: %+v", v)
}

func TestPodsWithoutAManagerShowThatThereIsNone(t *testing.T) {
	installed := Choice{Check: stages.After(stages.InstallCCM, transform.Target{})}
	o := &observed.Observation{Partial: true, Kinds: []string{observed.Pods}}
	assert.True(t, len(ofRule("daemonset-empty", o, installed)) > 0, "nothing is found")
	o.Kinds = []string{observed.DaemonSets}
	v := Evaluate(o, installed)
	_, needed := unchecked(o, stages.InstallCCM)
	assert.Truef(t, len(v.Findings) == 0 && slices.Contains(needed, "daemonset-empty"), "it may run from a Deployment: %+v", v)
}

// Managers in other namespaces can neither be found nor be found missing.
func TestWhatWasNotSeenOutsideKubeSystemIsNotChecked(t *testing.T) {
	o := &observed.Observation{KubeSystemOnly: true, Before: &observed.Snapshot{}, Leases: []observed.Lease{{Name: observed.CloudManager, Holder: "one_a", DurationSeconds: 15, Changed: true}}}
	all, needed := unchecked(o, "")
	assert.Truef(t, slices.Equal(all, aboutManagers) && len(needed) == 0, "%v, needed are %v", all, needed)
	installed := Choice{Check: stages.After(stages.InstallCCM, transform.Target{})}
	assert.True(t, len(ofRule("daemonset-empty", o, installed)) == 0, "one that may be elsewhere renews its lease")
	o.Leases = nil
	assert.True(t, len(ofRule("daemonset-empty", o, installed)) > 0, "no one has the lease")
}

func TestALeaseThatWasNotSeenIsNotDead(t *testing.T) {
	for name, c := range map[string]struct {
		o    observed.Observation
		want observed.Life
	}{
		"not looked at":          {observed.Observation{Partial: true}, observed.Unknown},
		"looked at, and missing": {observed.Observation{Partial: true, Kinds: []string{observed.Leases}}, observed.Dead},
		"one look, and no duration": {observed.Observation{Leases: []observed.Lease{
			{Name: transform.DefaultLease, Holder: "x"}}}, observed.Unknown},
	} {
		assert.Equal(t, Evaluate(&c.o, Choice{}).Lease.Life, c.want, name)
	}
}
