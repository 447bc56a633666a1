// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The manager's arguments in the global configuration, and in an entry for
// control planes; what is after the key is to be added.
const (
	globally   = oneNode + onAWS + "  kube-controller-manager-arg:"
	bySelector = oneNode + onAWS + "machineSelectorConfig:\n- " + forControlPlanes + "\n  config:\n    kube-controller-manager-arg:"
)

// inBoth calls f with configurations that hold the same value in both places.
func inBoth(t *testing.T, f func(t *testing.T, with func(value string) string)) {
	for name, place := range map[string]struct{ config, indent string }{"globally": {globally, "  "}, "by selector": {bySelector, "    "}} {
		t.Run(name, func(t *testing.T) {
			f(t, func(value string) string {
				return place.config + strings.ReplaceAll(value, "\n", "\n"+place.indent) + "\n"
			})
		})
	}
}

func TestEnableAddsTheFlagToEverySpelling(t *testing.T) {
	for _, c := range []struct{ name, before, want string }{
		{"a list", "\n- v=2\n- profiling=false", "\n- v=2\n- profiling=false\n- enable-leader-migration"},
		{"a list of one", "\n- v=2", "\n- v=2\n- enable-leader-migration"},
		{"a list with a comment", "\n- v=2 # verbose\n# the end", "\n- v=2 # verbose\n- enable-leader-migration\n# the end"},
		{"a flow list", " [v=2, profiling=false]", " [v=2, profiling=false, enable-leader-migration]"},
		{"a flow list in quotes", ` ["v=2"]`, ` ["v=2", enable-leader-migration]`},
		{"an empty list", " []", "\n- enable-leader-migration"},
		{"a string", " v=2", "\n- v=2\n- enable-leader-migration"},
		{"a string in quotes", " 'v=2'", "\n- v=2\n- enable-leader-migration"},
		{"an empty string", " ''", "\n- enable-leader-migration"},
		{"null", " null", "\n- enable-leader-migration"},
		{"nothing after the key", "", "\n- enable-leader-migration"},
		{"arguments with dashes", "\n- --v=2\n- --profiling=false", "\n- --v=2\n- --profiling=false\n- --enable-leader-migration"},
		{"dashes on some", "\n- --v=2\n- profiling=false", "\n- --v=2\n- profiling=false\n- enable-leader-migration"},
		{"a string with dashes", " --v=2", "\n- --v=2\n- --enable-leader-migration"},
		{"the flag is off", "\n- enable-leader-migration=false\n- v=2", "\n- enable-leader-migration=true\n- v=2"},
		{"the flag is off, with dashes", "\n- --enable-leader-migration=false", "\n- --enable-leader-migration=true"},
		{"the flag is off, in a string", " enable-leader-migration=false", " enable-leader-migration=true"},
		{"the last one is off", " [enable-leader-migration, enable-leader-migration=false]", " [enable-leader-migration=true, enable-leader-migration=true]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, with func(string) string) {
				assert.DeepEqual(t, after(t, with(c.before), stages.EnableLeaderMigration), with(c.want))
			})
		})
	}
}

func TestEnableIsDoneWhereTheFlagIsOn(t *testing.T) {
	for _, value := range []string{
		" enable-leader-migration",
		" --enable-leader-migration=true",
		" [v=2, enable-leader-migration]",
		" [enable-leader-migration=1]",
		"\n- --enable-leader-migration",
		"\n- enable-leader-migration=false\n- enable-leader-migration",
	} {
		inBoth(t, func(t *testing.T, with func(string) string) {
			assert.Truef(t, !edited(t, with(value), stages.EnableLeaderMigration), "%q is edited", value)
		})
	}
}

func TestEnableRefusesWhatRancherDrops(t *testing.T) {
	for value, kind := range map[string]string{
		" 2":                                "a number or boolean",
		" 1.5":                              "a number or boolean",
		" true":                             "a number or boolean",
		" {v: 2}":                           "a mapping",
		"\n  enable-leader-migration: true": "a mapping",
	} {
		inBoth(t, func(t *testing.T, with func(string) string) {
			_, err := stageOf(t, cluster(t, with(value)), stages.EnableLeaderMigration).Edit()
			assert.ErrorContains(t, err, "kube-controller-manager-arg: "+kind+" instead of arguments; Rancher drops it", value)
		})
	}
}

// What the stage inserts: an entry for control planes, and one without a
// selector.
const (
	inserted = `- config:
    kube-controller-manager-arg:
    - enable-leader-migration
  machineLabelSelector:
    matchExpressions:
    - key: rke.cattle.io/control-plane-role
      operator: In
      values:
      - "true"
`
	plain = "- config: {}\n"
)

func TestEnableReachesEveryControlPlane(t *testing.T) {
	const selectors = "machineSelectorConfig:\n"
	for _, c := range []struct{ name, before, want string }{
		{"no entries", oneNode + onAWS, oneNode + onAWS + selectors + inserted + plain},
		{"null", oneNode + onAWS + "machineSelectorConfig: null\n", oneNode + onAWS + selectors + inserted + plain},
		{"nothing after the key", oneNode + onAWS + "machineSelectorConfig:\n", oneNode + onAWS + selectors + inserted + plain},
		{"an empty list", oneNode + onAWS + "machineSelectorConfig: []\n", oneNode + onAWS + selectors + inserted + plain},
		{
			"an entry without selector",
			onAWS + selectors + "- config:\n    cni: calico\n",
			onAWS + selectors + inserted + "- config:\n    cni: calico\n",
		},
		{
			"an entry with an empty selector",
			onAWS + selectors + "- config: {cni: calico}\n  machineLabelSelector: {}\n",
			onAWS + selectors + inserted + "- config: {cni: calico}\n  machineLabelSelector: {}\n" + plain,
		},
		{
			"entries with selectors only",
			onAWS + selectors + "- config: {cni: calico}\n  " + forWorkers + "\n",
			onAWS + selectors + strings.ReplaceAll(inserted, `"`, "'") + "- config: {cni: calico}\n  " + forWorkers + "\n" + plain,
		},
		{
			"one of two pools has no location",
			twoZones + onAWS + selectors + "- config: {kube-controller-manager-arg: [v=2]}\n  " + forZoneA + "\n",
			twoZones + onAWS + selectors + inserted + "- config: {kube-controller-manager-arg: [v=2, enable-leader-migration]}\n  " + forZoneA + "\n" + plain,
		},
		{
			"one of two pools has the flag",
			twoZones + onAWS + selectors + "- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forZoneA + "\n- {}\n",
			twoZones + onAWS + selectors + inserted + "- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forZoneA + "\n- {}\n",
		},
		{
			"overlapping selectors",
			twoZones + onAWS + "  kube-controller-manager-arg: [a=1]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2]}\n  " + forZoneA + "\n- config: {kube-controller-manager-arg: [a=3]}\n  " + forControlPlanes + "\n",
			twoZones + onAWS + "  kube-controller-manager-arg: [a=1, enable-leader-migration]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2, enable-leader-migration]}\n  " + forZoneA + "\n- config: {kube-controller-manager-arg: [a=3, enable-leader-migration]}\n  " + forControlPlanes + "\n",
		},
		{
			"entries for other machines stay",
			split + onAWS + "  kube-controller-manager-arg: [a=1]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2]}\n  " + forWorkers + "\n- config: {kube-controller-manager-arg: [a=3]}\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: 4}\n  " + forZoneA + "\n",
			split + onAWS + "  kube-controller-manager-arg: [a=1, enable-leader-migration]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2]}\n  " + forWorkers + "\n- config: {kube-controller-manager-arg: [a=3]}\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: 4}\n  " + forZoneA + "\n",
		},
		{
			"a worker of a custom cluster may be a control plane",
			onAWS + "  kube-controller-manager-arg: [a=1]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2]}\n  " + forWorkers + "\n",
			onAWS + "  kube-controller-manager-arg: [a=1, enable-leader-migration]\n" + selectors + "- config: {kube-controller-manager-arg: [a=2, enable-leader-migration]}\n  " + forWorkers + "\n",
		},
		{
			"the published entry over a global list",
			onAWS + "  kube-controller-manager-arg: [a=1]\n" + selectors + "- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forControlPlanes + "\n",
			onAWS + "  kube-controller-manager-arg: [a=1, enable-leader-migration]\n" + selectors + "- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forControlPlanes + "\n",
		},
		{
			"a null after a list",
			oneNode + onAWS + "  kube-controller-manager-arg: [a=1]\n" + selectors + "- config:\n    kube-controller-manager-arg: null\n",
			oneNode + onAWS + "  kube-controller-manager-arg: [a=1, enable-leader-migration]\n" + selectors + "- config:\n    kube-controller-manager-arg:\n    - enable-leader-migration\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, after(t, c.before, stages.EnableLeaderMigration), c.want)
		})
	}
}

// Fields that Rancher prunes were there before; that they move to another place
// of the list is no reason to refuse the stage.
func TestEnableKeepsFieldsThatRancherDoesNotKnow(t *testing.T) {
	for name, entry := range map[string]string{
		"a misspelt selector": "- config: {cni: calico}\n  machineLabelSelectors: {matchLabels: {a: b}}\n",
		"misindented keys":    "- config:\n  cni: calico\n",
	} {
		t.Run(name, func(t *testing.T) {
			want := onAWS + "machineSelectorConfig:\n" + inserted + entry
			assert.DeepEqual(t, after(t, onAWS+"machineSelectorConfig:\n"+entry, stages.EnableLeaderMigration), want)
		})
	}
}

func TestEnableSaysWhichEtcdMachinesRestart(t *testing.T) {
	const list = "  kube-controller-manager-arg: [v=2]\n"
	for _, c := range []struct{ name, config, want string }{
		{"a custom cluster", onAWS + list, "(etcd, etcd+worker)"},
		{"a pool of etcd machines", split + onAWS + list, "(etcd)"},
		{"one pool for all roles", oneNode + onAWS + list, ""},
		{"no location, so an entry for control planes", split + onAWS, ""},
		{"an entry for control planes", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forControlPlanes + "\n", ""},
		{"an entry for etcd machines, which gets no flag", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := stageOf(t, cluster(t, c.config), stages.EnableLeaderMigration).Why
			assert.Truef(t, (c.want != "" || !strings.Contains(why, "etcd")) && strings.Contains(why, c.want), "got %q, want %q", why, c.want)
		})
	}
}

func TestTheCheckOfEnableCanFail(t *testing.T) {
	const kcm = "kube-controller-manager-arg"
	before := split + onAWS + "  cni: calico\n  " + kcm + ": [v=2, profiling=false]\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"it holds", "false]", "false, enable-leader-migration]", ""},
		{"the flag in front holds, too", "[v=2", "[--enable-leader-migration, v=2", ""},
		{"an argument is lost", "[v=2, profiling=false]", "[v=2, enable-leader-migration]", kcm + " would change on machines of class cp"},
		{"the published edit", "[v=2, profiling=false]", "[enable-leader-migration]", kcm + " would change on machines of class cp"},
		{"an argument has another value", "[v=2, profiling=false]", "[v=3, profiling=false, enable-leader-migration]", kcm + " would change on machines of class cp"},
		{"another order", "[v=2, profiling=false]", "[profiling=false, v=2, enable-leader-migration]", kcm + " would change on machines of class cp"},
		{"the flag is off", "false]", "false, enable-leader-migration=false]", kcm + " would change on machines of class cp"},
		{"the flag goes off again", "false]", "false, enable-leader-migration, enable-leader-migration=false]", kcm + " would change on machines of class cp"},
		{"the flag is not there", "false]", "false]", "machines of class cp would not get " + kcm + " with enable-leader-migration"},
		{"the list is gone", "  " + kcm + ": [v=2, profiling=false]\n", "", kcm + " would change on machines of class cp"},
		{"the flag goes elsewhere", kcm + ": ", "kubelet-arg: [enable-leader-migration]\n  " + kcm + ": ", "kubelet-arg would change on machines of class cp"},
		{"another key", "calico", "canal", "cni would change on machines of class cp"},
		{"a class is gone", "- {name: workers, workerRole: true}\n", "", "the machine classes would change"},
		{"a class has another name", "name: workers", "name: agents", "the machine class workers would change"},
		{"a class has another label", "workerRole: true", "workerRole: true, labels: {a: b}", "the machine class workers would change"},
		{"a field that Rancher does not know", "false]\n", "false, enable-leader-migration]\nmachineSelectorConfigs: []\n", `machineSelectorConfigs"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails(t, checked(t, stages.EnableLeaderMigration, before, strings.Replace(before, c.old, c.new, 1)), c.want)
		})
	}
}

func TestTheCheckOfEnableLooksAtEveryControlPlane(t *testing.T) {
	before := twoZones + onAWS
	after := before + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forZoneA + "\n"
	fails(t, checked(t, stages.EnableLeaderMigration, before, after), "machines of class b would not get")
}

// The sentence about etcd machines is of those that get the flag: where a later list wins, they
// do not restart.
func TestEnableNamesTheEtcdMachinesThatGetTheFlag(t *testing.T) {
	const pools = `machinePools:
- {name: etcd, etcdRole: true, quantity: 3}
- {name: cp, controlPlaneRole: true, quantity: 2}
` + onAWS + "  kube-controller-manager-arg: [v=2]\n"
	const onEtcd = `machineSelectorConfig:
- machineLabelSelector: {matchLabels: {rke.cattle.io/etcd-role: "true"}}
  config:
    kube-controller-manager-arg: [profiling=false]
`
	for config, restarts := range map[string]bool{pools: true, pools + onEtcd: false} {
		s := step(t, planned(t, release, config, chosen), stages.EnableLeaderMigration)
		assert.Equal(t, strings.Contains(s.Stage.Why, "also reaches etcd machines (etcd)"), restarts, s.Stage.Why)
	}
}
