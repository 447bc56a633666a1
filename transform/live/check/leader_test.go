// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// term is the own lease of the cloud-controller-manager after its holder renewed it
// for some time.
func term(length time.Duration, changed bool, silent float64) observed.Lease {
	l := record(observed.CloudManager, "c_1", changed, silent)
	l.Acquired = time.Date(2025, 3, 11, 9, 31, 47, 0, time.UTC)
	l.Renewed = l.Acquired.Add(length)
	return l
}

// followed is a cluster whose leases were followed for some seconds.
func followed(o *observed.Observation, seconds float64) *observed.Observation {
	o.FollowedSeconds = seconds
	return o
}

// since gives a lease the time of its acquisition.
func since(l observed.Lease, at time.Time) observed.Lease {
	l.Acquired = at
	return l
}

// crashed is a cluster whose cloud-controller-manager restarted once.
func crashed(o *observed.Observation, at time.Time) *observed.Observation {
	for i := range o.Managers {
		if m := &o.Managers[i]; m.Component == observed.CloudManager {
			m.Restarts, m.RestartedAt, m.Hosts = 3, at.Unix(), []string{"c"}
		}
	}
	return o
}

// looping is a cluster whose kubelet waits before it starts the manager again.
func looping(o *observed.Observation) *observed.Observation {
	o = crashed(o, time.Unix(0, 0))
	o.Managers[len(o.Managers)-1].Waiting = "CrashLoopBackOff"
	return o
}

// withSecond adds a second pod of the cloud-controller-manager, on another host.
func withSecond(host string, o *observed.Observation) *observed.Observation {
	m := o.Managers[len(o.Managers)-1]
	m.Pod, m.Hosts, m.Restarts = m.Pod+"-"+host, []string{host}, 0
	o.Managers = append(o.Managers, m)
	return o
}

const month = 30 * 24 * time.Hour

func TestAFinishedClusterNeedsALeader(t *testing.T) {
	named := []string{"--configure-cloud-routes=false", "--leader-elect-resource-name=own"}
	alone := []string{"--configure-cloud-routes=false", "--leader-elect=false"}
	acquired := term(0, true, 1).Acquired
	for _, c := range []struct {
		name  string
		o     *observed.Observation
		stage string
		want  []string // findings
		open  bool     // a further observation may tell
	}{
		{"one that renews its lease", scene(external, quiet, kubeLease(true), term(month, true, 1)), "", nil, false},
		{"a single reading does not show whether the holder of the migration lease is alive", scene(external, quiet, kubeLease(true), term(month, false, 0)), "", nil, true},
		{"the pods are ready, and the lease was never there", followed(scene(external, quiet, kubeLease(true)), 30), "", []string{"leader-missing error"}, false},
		{"it may come yet", scene(external, quiet, kubeLease(true)), "", nil, true},
		{"no one renews it for 29 seconds", scene(external, quiet, kubeLease(true), term(month, false, 29)), "", nil, true},
		{"nor for 40", scene(external, quiet, kubeLease(true), term(month, false, 40)), "", []string{"leader-missing error"}, false},
		{"nor after the last edit", scene(external, quiet, kubeLease(true), term(month, false, 40)), stages.DisableLeaderMigration, []string{"leader-missing error"}, false},
		{"nor while the flag is on", scene(external, waits, kubeLease(true), term(month, false, 40), migration("c_1", true, 1)), "", []string{"leader-missing error"}, false},
		{"nor while it waits for its turn", scene(migrating, waits, kubeLease(true), term(month, false, 40), migration("k_1", true, 1)), stages.InstallCCM, []string{"leader-missing error"}, false},
		{"which an earlier stage does not ask", scene(migrating, waits, kubeLease(true), term(month, false, 40), migration("k_1", true, 1)), stages.EnableLeaderMigration, nil, false},
		{"a takeover may be under way", scene(external, waits, kubeLease(true), term(month, true, 1), migration("d_1", false, 16)), "", []string{"cloud-controllers-nowhere warning"}, true},
		{"but not for so long", followed(scene(external, waits, kubeLease(true), term(month, true, 1), migration("d_1", false, 16)), 36), "", []string{"cloud-controllers-nowhere error"}, false},
		{"its own lease is lost again and again", followed(scene(external, quiet, kubeLease(true), term(2*time.Second, false, 16)), 36), "", []string{"leader-missing error"}, false},
		{"one that ends again and again is verdict enough", looping(scene(external, waits, kubeLease(true), term(2*time.Second, false, 16), migration("d_1", false, 16))), "", []string{"cloud-controllers-nowhere warning", "daemonset-restarting error"}, false},
		{"no manager at all", followed(scene(external, nil, kubeLease(true)), 0), "", []string{"ccm-removed error"}, false},
		{"and the lease of one that was there", scene(external, nil, kubeLease(true), term(month, false, 15)), "", []string{"ccm-removed error"}, false},
		{"a lease that is held without a pod", scene(external, nil, kubeLease(true), term(month, true, 1)), "", nil, false},
		{"nothing is required of a cluster without a provider", scene([]string{"--v=2"}, nil, kubeLease(true)), "", nil, false},
		{"a lease of another name", scene(external, named, kubeLease(true), record("own", "c_1", true, 1)), "", nil, false},
		{"which is not the usual one", scene(external, named, kubeLease(true), term(month, true, 1), record("own", "c_1", false, 40)), "", []string{"leader-missing error"}, false},
		{"one that a shell starts is followed by the usual lease", scene(external, []string{"sh", "-c", "exec ccm $ARGS"}, kubeLease(true), term(month, false, 0)), "", []string{"cloud-controllers-twice note"}, true},
		{"and leads by it", scene(external, []string{"sh", "-c", "exec ccm $ARGS"}, kubeLease(true), term(month, true, 1)), "", []string{"cloud-controllers-twice note"}, false},
		{"one that elects no leader", scene(external, alone, kubeLease(true)), "", nil, false},
		{"a leader that is new has to renew once", scene(external, quiet, kubeLease(true), term(0, true, 1)), "", nil, true},
		{"and has done so", scene(external, quiet, kubeLease(true), term(2*time.Second, true, 1)), "", nil, false},
		{"where it restarted that takes longer", crashed(scene(external, quiet, kubeLease(true), term(2*time.Second, true, 1)), acquired.Add(-time.Minute)), "", nil, true},
		{"and it may never come", followed(crashed(scene(external, quiet, kubeLease(true), term(2*time.Second, true, 1)), acquired.Add(-time.Minute)), 36), "", []string{"leader-missing error"}, false},
		{"an old restart is none", crashed(scene(external, quiet, kubeLease(true), term(month, true, 1)), acquired.Add(time.Minute)), "", nil, false},
		{"it ended when it led", crashed(scene(external, quiet, kubeLease(true), term(0, false, 3)), acquired.Add(time.Second)), "", []string{"daemonset-restarting error"}, true},
		{"a restart on the machine of its holder", crashed(scene(external, waits, kubeLease(true), term(month, true, 1), since(migration("c_1", true, 1), acquired)), acquired.Add(time.Second)), "", []string{"daemonset-restarting error"}, true},
		{"one on another machine has the times of another clock", withSecond("d", crashed(scene(external, waits, kubeLease(true), record(observed.CloudManager, "d_1", true, 1), since(migration("d_1", true, 1), acquired)), acquired.Add(time.Second))), "", []string{"daemonset-restarting warning"}, true},
		{"which cannot be known where no pod has the holder's host", crashed(scene(external, waits, kubeLease(true), record(observed.CloudManager, "d_1", true, 1), since(migration("d_1", true, 1), acquired)), acquired.Add(time.Second)), "", []string{"daemonset-restarting error"}, true},
		{"a manager without a pod, and the stage says that it is external", scene(nil, quiet, kubeLease(true), term(month, false, 40)), stages.DisableLeaderMigration, []string{"cloud-controllers-twice note", "leader-missing error"}, false},
		{"nor without a stage", scene(nil, quiet, kubeLease(true), term(month, false, 40)), "", []string{"cloud-controllers-twice note", "leader-missing error"}, false},
		{"and one that leads", scene(nil, quiet, kubeLease(true), term(month, true, 1)), stages.DisableLeaderMigration, []string{"cloud-controllers-twice note"}, false},
	} {
		assert.EqualSlices(t, rulesFound(c.o, c.stage), c.want, c.name)
		assert.Equal(t, Unsettled(c.o, Choice{Check: stages.After(c.stage, transform.Target{})}), c.open, c.name, "a further look may tell")
	}
}

// What one observation cannot show of a migrated cluster is not ok, with a stage or without.
func TestALeaderThatIsUnknownIsNotOK(t *testing.T) {
	for _, stage := range []string{"", stages.SwitchToExternal, stages.DisableLeaderMigration, stages.VerifyProviderIDs} {
		for name, o := range map[string]*observed.Observation{
			"one look":              scene(external, quiet, kubeLease(true), term(month, false, 0)),
			"a takeover":            scene(external, quiet, kubeLease(true), term(month, true, 20)),
			"held without a pod":    scene(external, nil, kubeLease(true), term(month, true, 1)),
			"leases elsewhere":      scene(external, append(slices.Clone(quiet), "--leader-elect-resource-namespace=cloud"), kubeLease(true)),
			"arguments of a script": scene(external, []string{"sh", "-c", "exec ccm $ARGS"}, kubeLease(true), term(month, false, 40)),
		} {
			v := Evaluate(o, Choice{Check: stages.After(stage, transform.Target{})})
			_, needed := unchecked(o, stage)
			assert.Truef(t, slices.Contains(needed, "leader-missing") && !v.OK(), "%s, %q: %v %+v", name, stage, v.OK(), v.Findings)
			accepted := Evaluate(o, Choice{Check: stages.After(stage, transform.Target{}), Accept: []string{"leader-missing"}})
			assert.Truef(t, !slices.ContainsFunc(accepted.NotChecked, func(n NotChecked) bool { return n.Rule == "leader-missing" && n.Needed }), "%s, %q: it was accepted", name, stage)
		}
	}
	v := Evaluate(scene(external, quiet, kubeLease(true), term(month, true, 1)), Choice{})
	assert.Truef(t, v.OK(), "a leader: %+v", v)
}

// Controllers that a configuration gives to the external manager run nowhere.
func TestALeaderOwnsAllCloudControllers(t *testing.T) {
	o := scene(external, append(slices.Clone(waits), "--leader-migration-config=/etc/leadermigration.conf"), kubeLease(true), term(month, true, 1), migration("c_1", true, 1))
	for component, want := range map[string][]string{
		observed.CloudManager: nil,
		"*":                   nil,
		observed.KubeManager:  {"leader-missing error"},
	} {
		text := "controllerLeaders: [{name: service, component: '" + component + "'}, {name: cloud-node-lifecycle, component: '*'}]"
		o.Managers[1].Config = &text
		assert.EqualSlices(t, rulesFound(o, stages.SwitchToExternal), want, component)
	}
}

func TestTheManagersHaveToLockTheirOwnLeases(t *testing.T) {
	o := scene(external, quiet, kubeLease(true), term(month, true, 1))
	o.Managers[1].Account = "ccm"
	o.Reviews = Questions(o.Managers)
	asked := map[string]bool{}
	for i, r := range o.Reviews {
		asked[r.Verb+" "+r.Lease+" "+r.User] = true
		o.Reviews[i].Allowed = r.Lease != observed.CloudManager
	}
	for _, verb := range []string{"get", "update"} {
		assert.Truef(t, asked[verb+" "+observed.CloudManager+" "+leadermigration.ServiceAccount(leadermigration.Namespace, "ccm")], "it did not check whether it can %s: %v", verb, asked)
	}
	v := Evaluate(o, Choice{})
	assert.True(t, len(v.Findings) == 1 && v.Findings[0].Rule == "lease-rbac-missing" && strings.Contains(v.Findings[0].Message, "has no permission to get, update its own lease "+observed.CloudManager), v.Findings)
}

func TestRoutesWithoutARangeAreFoundBeforeTheyEndTheManager(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"on by default":        {[]string{"--enable-leader-migration=true"}, []string{"ccm-args-unsafe error"}},
		"on":                   {[]string{"--enable-leader-migration=true", "--configure-cloud-routes"}, []string{"ccm-args-unsafe error"}},
		"with a range":         {[]string{"--enable-leader-migration=true", "--cluster-cidr=10.42.0.0/16"}, nil},
		"off":                  {waits, nil},
		"without a controller": {[]string{"--enable-leader-migration=true", "--controllers=*,-route"}, nil},
	} {
		o := scene(migrating, c.args, kubeLease(true), term(month, true, 1), migration("k_1", true, 1))
		assert.EqualSlices(t, rulesFound(o, stages.InstallCCM), c.want, name)
		o.Managers, o.DaemonSets = o.Managers[:1], []observed.DaemonSet{{Namespace: "kube-system", Name: "c", Args: c.args, Observed: true, Desired: 1, Updated: 1, Ready: 1}}
		got := rulesFound(o, stages.InstallCCM)
		assert.Truef(t, slices.Contains(got, "ccm-args-unsafe error") == (c.want != nil), "%s, of the DaemonSet: %v", name, got)
	}
}
