// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func finding(o *observed.Observation, rule string) (f transform.Finding, found bool) {
	list := ofRule(rule, o, Choice{})
	if len(list) > 0 {
		f = list[0]
	}
	return f, len(list) > 0
}

// Two managers that name different leases both hold theirs, and neither needs the other
// one's.
func TestDifferentLeasesAreNamed(t *testing.T) {
	const lease = "cloud-provider-extraction-migration-2"
	o := scene(migrating, append(slices.Clone(waits), "--leader-migration-config=/etc/leadermigration.conf"), kubeLease(true), cloudLease(true), migration("k_1", true, 1), record(lease, "c_1", true, 1))
	text := "leaderName: " + lease + "\ncontrollerLeaders: [{name: service, component: '*'}, {name: cloud-node-lifecycle, component: '*'}]"
	o.Managers[1].Config = &text
	o.Reviews = Questions(o.Managers)
	for i, r := range o.Reviews {
		kube := r.User == "system:kube-controller-manager"
		o.Reviews[i].Allowed = r.Lease == observed.CloudManager || kube == (r.Lease != lease)
	}
	f, two := finding(o, "cloud-controllers-twice")
	assert.True(t, two && strings.Contains(f.Message, "kube-controller-manager holds the lease cloud-provider-extraction-migration") && strings.Contains(f.Message, "cloud-controller-manager holds the lease "+lease) && strings.Contains(f.Fix, "leaderName"), f)
	f, missing := finding(o, "lease-rbac-missing")
	assert.True(t, !missing, "each may lock its own lease", f)
}

// While a change rolls out, pods that only wait are no reason.
func TestPodsThatOnlyWaitAreNoReason(t *testing.T) {
	o := scene(inTree, quiet, record(observed.KubeManager, "k1_1", true, 1), record(observed.CloudManager, "c1_1", true, 1))
	o.Managers[0].Hosts, o.Managers[1].Hosts = []string{"k1"}, []string{"c1"}
	o.Managers = append(o.Managers,
		observed.Manager{Component: observed.KubeManager, Pod: "k2", Hosts: []string{"k2"}, Args: migrating, Running: true},
		observed.Manager{Component: observed.CloudManager, Pod: "c2", Hosts: []string{"c2"}, Args: append(slices.Clone(quiet), "--leader-elect=false"), Running: false},
	)
	f, two := finding(o, "cloud-controllers-twice")
	assert.True(t, two && !strings.Contains(f.Message, "leader-elect=false") && !strings.Contains(f.Message, "holds") && strings.Count(f.Message, "has no enable-leader-migration") == 2, f)
}

func TestTwoStaticPodsOnANodeAreFound(t *testing.T) {
	twice := func(args []string, account string) *observed.Observation {
		o := scene(external, quiet, kubeLease(true), cloudLease(true))
		o.Managers[0].Node = "one"
		o.Managers = append(o.Managers, observed.Manager{Component: observed.KubeManager, Pod: "k-backup", Node: "one", Account: account, Args: args, Running: true})
		return o
	}
	for name, c := range map[string]struct {
		o    *observed.Observation
		want []string
	}{
		"a backup from before the switch":      {twice(inTree, ""), []string{"cloud-controllers-twice error"}},
		"one with a flag that decides nothing": {twice(append(slices.Clone(external), "--v=2"), ""), []string{"cloud-controllers-twice warning"}},
		"a rollout of a Deployment":            {twice(external, "kube-controller-manager"), nil},
	} {
		got := slices.DeleteFunc(rulesFound(c.o, ""), func(r string) bool { return !strings.HasPrefix(r, "cloud-controllers-twice") })
		assert.EqualSlices(t, got, c.want, name)
	}
}
