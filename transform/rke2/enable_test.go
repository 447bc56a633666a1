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
	const selectors, flag, entry, last = "machineSelectorConfig:\n", "‹→, enable-leader-migration›", "‹→" + inserted + "›", "‹→" + plain + "›"
	global := func(list string) string { return onAWS + "  kube-controller-manager-arg: [" + list + "]\n" }
	of := func(list, selector string) string {
		return "- config: {kube-controller-manager-arg: [" + list + "]}\n  " + selector + "\n"
	}
	edits(t, stages.EnableLeaderMigration, chosen, map[string]string{
		"no entries":                                          oneNode + onAWS + "‹→" + selectors + inserted + plain + "›",
		"null":                                                oneNode + onAWS + "machineSelectorConfig:‹ null→›\n" + entry + last,
		"nothing after the key":                               oneNode + onAWS + selectors + entry + last,
		"an empty list":                                       oneNode + onAWS + "machineSelectorConfig:‹ []→›\n" + entry + last,
		"an entry without selector":                           onAWS + selectors + entry + "- config:\n    cni: calico\n",
		"an entry with an empty selector":                     onAWS + selectors + entry + "- config: {cni: calico}\n  machineLabelSelector: {}\n" + last,
		"entries with selectors only":                         onAWS + selectors + strings.ReplaceAll(entry, `"`, "'") + "- config: {cni: calico}\n  " + forWorkers + "\n" + last,
		"one of two pools has no location":                    twoZones + onAWS + selectors + entry + of("v=2"+flag, forZoneA) + last,
		"one of two pools has the flag":                       twoZones + onAWS + selectors + entry + of("enable-leader-migration", forZoneA) + "- {}\n",
		"overlapping selectors":                               twoZones + global("a=1"+flag) + selectors + of("a=2"+flag, forZoneA) + of("a=3"+flag, forControlPlanes),
		"entries for other machines stay":                     split + global("a=1"+flag) + selectors + of("a=2", forWorkers) + of("a=3", forEtcd) + "- config: {kube-controller-manager-arg: 4}\n  " + forZoneA + "\n",
		"a worker of a custom cluster may be a control plane": global("a=1"+flag) + selectors + of("a=2"+flag, forWorkers),
		"a list for machines with a label of their own":       global("v=2"+flag) + selectors + "- config: {}\n" + of("v=4"+flag, "machineLabelSelector: {matchLabels: {size: big}}"),
		"the published entry over a global list":              global("a=1"+flag) + selectors + of("enable-leader-migration", forControlPlanes),
		"a null after a list":                                 oneNode + global("a=1"+flag) + selectors + "- config:\n    kube-controller-manager-arg:‹ null→\n    - enable-leader-migration›\n",
		// Fields that Rancher prunes were there before; that they move to another place of the list is no reason to refuse the stage.
		"a misspelt selector": onAWS + selectors + entry + "- config: {cni: calico}\n  machineLabelSelectors: {matchLabels: {a: b}}\n",
		"misindented keys":    onAWS + selectors + entry + "- config:\n  cni: calico\n",
	})
}

func TestEnableSaysWhichEtcdMachinesRestart(t *testing.T) {
	const list = "  kube-controller-manager-arg: [v=2]\n"
	for _, c := range []struct{ name, config, want string }{
		{"a custom cluster", onAWS + list, "also reaches etcd machines (etcd, etcd+worker)"},
		{"a pool of etcd machines", split + onAWS + list, "also reaches etcd machines (etcd)"},
		{"one pool for all roles", oneNode + onAWS + list, ""},
		{"no location, so an entry for control planes", split + onAWS, ""},
		{"an entry for control planes", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forControlPlanes + "\n", ""},
		{"a later list for etcd machines", split + onAWS + list + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [profiling=false]}\n  " + forEtcd + "\n", ""},
		{"an entry for etcd machines, which gets no flag", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n", ""},
	} {
		why := stageOf(t, cluster(t, c.config), stages.EnableLeaderMigration).Why
		assert.Truef(t, (c.want != "" || !strings.Contains(why, "etcd")) && strings.Contains(why, c.want), "%s: got %q, want %q", c.name, why, c.want)
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
		{"a field that Rancher does not know", "false]\n", "false, enable-leader-migration]\nmachineSelectorConfigs: []\n", `machineSelectorConfigs"`},
	} {
		fails(t, checked(t, stages.EnableLeaderMigration, before, strings.Replace(before, c.old, c.new, 1)), c.want, c.name)
	}
}

func TestTheCheckOfEnableReadsEveryControlPlane(t *testing.T) {
	before := twoZones + onAWS
	after := before + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forZoneA + "\n"
	fails(t, checked(t, stages.EnableLeaderMigration, before, after), "machines of class b would not get")
}
