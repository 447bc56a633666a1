// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// scene is a cluster with one manager of each kind.
func scene(kube, cloud []string, leases ...observed.Lease) *observed.Observation {
	o := &observed.Observation{
		Nodes: []observed.Node{{Name: "one", ProviderID: "aws:///a/i-5b1c8f62", Labels: map[string]string{
			observed.RegionLabel: "r", observed.InstanceTypeLabel: "t", "node-role.kubernetes.io/control-plane": "true",
		}}},
		Leases: leases,
	}
	if kube != nil {
		o.Managers = append(o.Managers, observed.Manager{Component: observed.KubeManager, Pod: "k", Args: kube, Running: true})
	}
	if cloud != nil {
		o.Managers = append(o.Managers, observed.Manager{Component: observed.CloudManager, Pod: "c", Args: cloud, Running: true, Image: "c:v1.26.6"})
	}
	return o
}

func record(name, holder string, changed bool, silent float64) observed.Lease {
	return observed.Lease{Name: name, Holder: holder, DurationSeconds: 15, Changed: changed, SilentSeconds: silent}
}

var (
	inTree    = []string{providerAWS}
	migrating = []string{"--cloud-provider=aws", "--enable-leader-migration"}
	external  = []string{providerExternal}
	quiet     = []string{"--configure-cloud-routes=false"}
	waits     = []string{"--configure-cloud-routes=false", "--enable-leader-migration=true"}
)

func kubeLease(changed bool) observed.Lease {
	return record(observed.KubeManager, "k_1", changed, 1)
}
func cloudLease(changed bool) observed.Lease {
	return record(observed.CloudManager, "c_1", changed, 1)
}

func migration(holder string, changed bool, silent float64) observed.Lease {
	return record(leadermigration.Lease, holder, changed, silent)
}

func rulesFound(o *observed.Observation, stage string) []string {
	var ids []string
	for _, f := range Evaluate(o, Choice{Check: stages.After(stage, transform.Target{})}).Findings {
		ids = append(ids, f.Rule+" "+string(f.Severity))
	}
	return ids
}

func TestLeasesAreCheckedByWhoLives(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     *observed.Observation
		stage string
		want  []string
	}{
		{"nothing is asked of a cluster before the first stage", scene(inTree, nil, kubeLease(true)), "", nil},
		{"a lease that no one needs may be dead", scene(external, quiet, kubeLease(true), cloudLease(true), migration("c_0", false, 900)), "", nil},
		{"the flag without a lease", scene(migrating, nil, kubeLease(true)), "", []string{"cloud-controllers-nowhere error"}},
		{"a takeover may take 30 seconds", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", false, 29)), "", []string{"cloud-controllers-nowhere warning"}},
		{"and no longer", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", false, 30)), "", []string{"cloud-controllers-nowhere error"}},
		{"a lease without a holder", scene(migrating, nil, kubeLease(true), migration("", false, 31)), "", []string{"cloud-controllers-nowhere error"}},
		{"after an undone switch either may hold it", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("c_1", true, 1)), "", nil},
		{"nor is there a wrong one before the switch", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("c_1", true, 1)), stages.CordonControlPlane, nil},
		{"but not after the first stages", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("c_1", true, 1)), stages.EnableLeaderMigration, []string{"lease-wrong-holder error"}},
		{"nor after the switch the other one", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", true, 1)), stages.SwitchToExternal, []string{"lease-wrong-holder error", "stage-not-reached error"}},
		{"a dead holder is no wrong owner: the right one may be about to come", scene(external, waits, kubeLease(true), cloudLease(true), migration("k_1", false, 20)), stages.SwitchToExternal, []string{"cloud-controllers-nowhere warning"}},
		{"a manager below a shell", scene([]string{"sh", "-c", "exec kcm --cloud-provider=aws"}, quiet, kubeLease(true), cloudLease(true)), "", []string{"cloud-controllers-twice note"}},
		{"two that do not know each other", scene(inTree, quiet, kubeLease(true), cloudLease(true)), "", []string{"cloud-controllers-twice error"}},
		{"one look at them is evidence enough", scene(inTree, quiet, kubeLease(false), cloudLease(false)), "", []string{"cloud-controllers-twice error"}},
		{"one of them that is dead is none", scene(inTree, quiet, kubeLease(true), record(observed.CloudManager, "c_1", true, 16)), "", nil},
		{"a manager that cannot be seen", scene(nil, waits, kubeLease(true), cloudLease(true), migration("c_1", true, 1)), "", []string{"cloud-controllers-twice note"}},
	} {
		assert.EqualSlices(t, rulesFound(c.o, c.stage), c.want, c.name)
	}
}

func TestLeasesAreFollowedForAsLongAsItMatters(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     *observed.Observation
		stage string
		want  bool
	}{
		{"not where one manager is alone", scene(inTree, nil, kubeLease(false)), "", false},
		{"after the last edit that of the cloud-controller-manager", scene(external, quiet, kubeLease(false), cloudLease(false), migration("c_0", false, 0)), "", true},
		{"and no other", scene(external, quiet, kubeLease(false), cloudLease(true), migration("c_0", false, 0)), "", false},
		{"where the flag is on", scene(migrating, nil, kubeLease(true), migration("k_1", false, 0)), "", true},
		{"where only the migration lease moved", scene(migrating, nil, kubeLease(false), migration("k_1", true, 1)), "", true},
		{"not once all moved", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", true, 1)), "", false},
		{"through a takeover", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", true, 20)), "", true},
		{"not forever", scene(migrating, waits, kubeLease(true), cloudLease(true), migration("k_1", true, 31)), "", false},
		{"where both could run everything", scene(inTree, quiet, kubeLease(true), cloudLease(false)), "", true},
		{"where a stage asks for it", scene(nil, nil, kubeLease(true), migration("k_1", false, 1)), stages.EnableLeaderMigration, true},
	} {
		assert.Equal(t, Unsettled(c.o, Choice{Check: stages.After(c.stage, transform.Target{})}), c.want, c.name)
	}
}

func TestThePermissionsOfEachIdentityAreChecked(t *testing.T) {
	account := leadermigration.ServiceAccount("kube-system", "kcm")
	o := scene(migrating, nil, kubeLease(true), migration("k_1", true, 1))
	o.Managers[0].Account = "kcm"
	o.Reviews = []observed.AccessReview{{User: leadermigration.ManagerUser, Verb: "update", Lease: leadermigration.Lease}, {User: account, Verb: "update", Lease: leadermigration.Lease, Allowed: true}}
	assert.EqualSlices(t, rulesFound(o, ""), nil, "the account may")
	o.Managers[0].Args = append(slices.Clone(migrating), "--kubeconfig=/etc/kubernetes/kcm.conf")
	assert.EqualSlices(t, rulesFound(o, ""), []string{"lease-rbac-missing error"}, "the user of the kubeconfig may not")
}

func TestWhatIsSeenShowsTheStage(t *testing.T) {
	allowed := []observed.AccessReview{{User: leadermigration.ManagerUser, Verb: "update", Allowed: true}}
	for _, c := range []struct {
		name string
		o    *observed.Observation
		want string
	}{
		{"nothing", scene(inTree, nil), ""},
		{"the rights", func() *observed.Observation { o := scene(inTree, nil); o.Reviews = allowed; return o }(), stages.GrantMigrationLease},
		{"the flag", scene(migrating, nil), stages.EnableLeaderMigration},
		{"both", scene(migrating, waits), stages.InstallCCM},
		{"an external manager", scene(external, waits), stages.SwitchToExternal},
		{"and the other without the flag", scene(external, quiet), stages.DisableLeaderMigration},
		{"a manager with its values apart", scene([]string{"--cloud-provider", "aws", "--enable-leader-migration"}, waits), stages.InstallCCM},
		{"a manager below a shell", scene([]string{"sh", "-c", "exec kcm --cloud-provider=aws"}, quiet), ""},
		{"an unseen manager that holds the lease", scene(nil, waits, kubeLease(true), migration("k_1", true, 1)), stages.InstallCCM},
		{"an unseen manager that does not", scene(nil, waits, cloudLease(true), migration("c_1", true, 1)), stages.SwitchToExternal},
	} {
		assert.Equal(t, Reached(c.o), c.want, c.name)
	}
}

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
