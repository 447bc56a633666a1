// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// switches compares what the switch makes of configurations.
func switches(t *testing.T, cases []struct{ name, before, want string }) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, after(t, c.before, stages.SwitchToExternal), c.want)
		})
	}
}

const (
	isExternal = "cloud-provider-name: external\n"
	stubOff    = "disable-cloud-controller: true\n"
	globalOff  = "machineGlobalConfig:\n  " + isExternal + "  " + stubOff
)

func TestSwitchEditsTheProviderThatWins(t *testing.T) {
	const entries = "machineSelectorConfig:\n"
	switches(t, []struct{ name, before, want string }{
		{"in the global configuration", onAWS, globalOff},
		{"in double quotes", strings.Replace(onAWS, "aws", `"aws"`, 1), strings.Replace(globalOff, "external", `"external"`, 1)},
		{"a single-quoted string of several lines contains YAML", strings.Replace(onAWS, "aws", "'aws'", 1), strings.Replace(globalOff, "external", "'external'", 1)},
		{"with a comment", strings.Replace(onAWS, "aws", "aws # in-tree", 1), strings.Replace(globalOff, "external", "external # in-tree", 1)},
		{"between other keys", onAWS + "  cni: calico\n", globalOff + "  cni: calico\n"},
		{
			"among sorted keys", onAWS + "  cni: calico\n  profile: cis\n",
			"machineGlobalConfig:\n  " + isExternal + "  cni: calico\n  " + stubOff + "  profile: cis\n",
		},
		{
			"in a flow mapping", "machineGlobalConfig: {cni: calico, cloud-provider-name: aws}\n",
			"machineGlobalConfig: {cni: calico, cloud-provider-name: external, disable-cloud-controller: true}\n",
		},
		{
			"in an entry without selector", entries + "- config:\n    cloud-provider-name: aws\n",
			entries + "- config:\n    " + isExternal + "    " + stubOff,
		},
		{
			"a hidden one stays", onAWS + entries + "- config:\n    cloud-provider-name: aws\n",
			onAWS + entries + "- config:\n    " + isExternal + "    " + stubOff,
		},
		{
			"two winners by role", split + onAWS + entries + "- config:\n    cloud-provider-name: aws\n  " + forControlPlanes + "\n",
			split + globalOff + entries + "- config:\n    " + isExternal + "    " + stubOff + "  " + forControlPlanes + "\n",
		},
		{
			"two winners in selectors", split + entries + "- config: {cloud-provider-name: aws}\n- config: {cloud-provider-name: aws}\n  " + forControlPlanes + "\n",
			split + entries + "- config: {cloud-provider-name: external, disable-cloud-controller: true}\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
		},
		{
			"workers take no stub", split + entries + "- config: {cloud-provider-name: aws}\n  " + forControlPlanes + "\n- config: {cloud-provider-name: aws}\n  " + forWorkers + "\n",
			split + entries + "- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forControlPlanes + "\n- config: {cloud-provider-name: external}\n  " + forWorkers + "\n",
		},
		{
			"one pool is external already", twoZones + onAWS + entries + "- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n",
			twoZones + globalOff + entries + "- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n",
		},
	})
}

func TestSwitchTurnsTheStubOff(t *testing.T) {
	const external = "machineGlobalConfig:\n  " + isExternal
	for before, want := range map[string]string{
		"true":      "true",
		`"true"`:    `"true"`,
		"'1'":       "'1'",
		"yes":       "yes",
		"false":     "true",
		`"false"`:   "true",
		"no":        "true",
		"null":      "true",
		"''":        "true",
		"'on'":      "true",
		"[true]":    "true",
		"{a: true}": "true",
		"1":         "true", // Rancher drops a number
	} {
		t.Run(before, func(t *testing.T) {
			got := after(t, onAWS+"  disable-cloud-controller: "+before+"\n", stages.SwitchToExternal)
			assert.DeepEqual(t, got, external+"  disable-cloud-controller: "+want+"\n")
		})
	}
	const entries = "machineSelectorConfig:\n"
	switches(t, []struct{ name, before, want string }{
		{"left out after its key", onAWS + "  disable-cloud-controller:\n", globalOff},
		{
			"two winners", split + onAWS + "  disable-cloud-controller: false\n" + entries + "- config: {disable-cloud-controller: false}\n  " + forControlPlanes + "\n",
			split + globalOff + entries + "- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
		},
		{
			"a hidden one stays", onAWS + "  disable-cloud-controller: false\n" + entries + "- config: {disable-cloud-controller: null}\n",
			external + "  disable-cloud-controller: false\n" + entries + "- config: {disable-cloud-controller: true}\n",
		},
		{
			"what workers lose stays", split + onAWS + "  " + stubOff + entries + "- config: {disable-cloud-controller: false}\n  " + forWorkers + "\n",
			split + globalOff + entries + "- config: {disable-cloud-controller: false}\n  " + forWorkers + "\n",
		},
		{
			"off for control planes, absent for etcd machines", split + onAWS + entries + "- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
			split + globalOff + entries + "- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
		},
	})
}

func TestSwitchMakesComponentsExternal(t *testing.T) {
	for _, key := range []string{"kubelet-arg", "kube-apiserver-arg", "kube-controller-manager-arg"} {
		for before, want := range map[string]string{
			"cloud-provider=aws":                                  "cloud-provider=external",
			"--cloud-provider=aws":                                "--cloud-provider=external",
			"'cloud-provider=aws'":                                "'cloud-provider=external'",
			"[v=2, cloud-provider=aws]":                           "[v=2, cloud-provider=external]",
			"[--cloud-provider=aws, --v=2]":                       "[--cloud-provider=external, --v=2]",
			"[cloud-provider=external, cloud-provider=aws]":       "[cloud-provider=external, cloud-provider=external]",
			"[cloud-provider=aws, cloud-provider=external]":       "[cloud-provider=aws, cloud-provider=external]",
			"[cloud-provider=, v=2]":                              "[cloud-provider=, v=2]",
			"[cloud-provider-name=aws]":                           "[cloud-provider-name=aws]",
			"[cloud-config=/etc/aws.conf, cloud-provider=aws, 2]": "[cloud-config=/etc/aws.conf, cloud-provider=external, 2]",
		} {
			if key == managerArgs && strings.Contains(before, "cloud-provider=,") {
				continue // a manager without a provider is refused
			}
			t.Run(key+" "+before, func(t *testing.T) {
				assert.DeepEqual(t, after(t, onAWS+"  "+key+": "+before+"\n", stages.SwitchToExternal), globalOff+"  "+key+": "+want+"\n")
			})
		}
	}
	switches(t, []struct{ name, before, want string }{
		{
			"in entries for other machines, too",
			split + onAWS + "machineSelectorConfig:\n- config: {kubelet-arg: [cloud-provider=aws]}\n  " + forWorkers + "\n",
			split + globalOff + "machineSelectorConfig:\n- config: {kubelet-arg: [cloud-provider=external]}\n  " + forWorkers + "\n",
		},
		{
			"beside the flag",
			onAWS + "  kube-controller-manager-arg: [cloud-provider=aws, enable-leader-migration]\n",
			globalOff + "  kube-controller-manager-arg: [cloud-provider=external]\n",
		},
	})
}

func TestSwitchRemovesTheFlag(t *testing.T) {
	const entries = "machineSelectorConfig:\n"
	const list = "  kube-controller-manager-arg: [v=2]\n"
	const flag = "  kube-controller-manager-arg: [enable-leader-migration]\n"
	// The provider is last, so that nothing is written next to the flag.
	const args = "machineGlobalConfig:\n  kube-controller-manager-arg:"
	const tail = "  cni: calico\n  cloud-provider-name: aws\n"
	const done = "  cni: calico\n  " + isExternal + "  " + stubOff
	switches(t, []struct{ name, before, want string }{
		{"from a list", args + "\n  - v=2\n  - enable-leader-migration\n" + tail, args + "\n  - v=2\n" + done},
		{"from a flow list", args + " [enable-leader-migration, v=2]\n" + tail, args + " [v=2]\n" + done},
		{"with dashes", args + " [v=2, --enable-leader-migration=true]\n" + tail, args + " [v=2]\n" + done},
		{"when it is off", args + " [v=2, enable-leader-migration=false]\n" + tail, args + " [v=2]\n" + done},
		{"twice", args + " [enable-leader-migration, v=2, enable-leader-migration]\n" + tail, args + " [v=2]\n" + done},
		{"with the list that held nothing else", args + " [enable-leader-migration]\n" + tail, "machineGlobalConfig:\n" + done},
		{"with the string", args + " enable-leader-migration\n" + tail, "machineGlobalConfig:\n" + done},
		{"and with its value", args + " '--enable-leader-migration=true'\n" + tail, "machineGlobalConfig:\n" + done},
		{"nowhere", args + " [v=2]\n" + tail, args + " [v=2]\n" + done},
		{
			"with the entry that held nothing else", onAWS + entries + inserted + plain,
			globalOff + entries + plain,
		},
		{
			"with the last entry", oneNode + onAWS + entries + inserted,
			oneNode + globalOff + entries[:len(entries)-1] + " []\n",
		},
		{
			"and keeps an entry with another key", onAWS + entries + "- config:\n    kube-controller-manager-arg: [enable-leader-migration]\n    kubelet-arg: [v=2]\n  " + forControlPlanes + "\n",
			globalOff + entries + "- config:\n    kubelet-arg: [v=2]\n  " + forControlPlanes + "\n",
		},
		{
			"and keeps an entry with a field that Rancher does not know", onAWS + entries + "- name: mine\n  config:\n    kube-controller-manager-arg: [enable-leader-migration]\n  " + forControlPlanes + "\n",
			globalOff + entries + "- name: mine\n  config: {}\n  " + forControlPlanes + "\n",
		},
		{
			"and keeps an entry without selector", onAWS + entries + "- config:\n    kube-controller-manager-arg: [enable-leader-migration]\n",
			globalOff + entries + "- config: {}\n",
		},
		{
			"and keeps an entry with an empty selector", onAWS + entries + "- config:\n    kube-controller-manager-arg: [enable-leader-migration]\n  machineLabelSelector: {}\n",
			globalOff + entries + "- config: {}\n  machineLabelSelector: {}\n",
		},
		{
			"and keeps an empty list that hides another", onAWS + list + entries + "- config:\n    kube-controller-manager-arg: [enable-leader-migration]\n  " + forControlPlanes + "\n",
			globalOff + list + entries + "- config:\n    kube-controller-manager-arg: []\n  " + forControlPlanes + "\n",
		},
		{
			"and keeps an empty string that hides another", onAWS + list + entries + "- config:\n    kube-controller-manager-arg: enable-leader-migration\n  " + forControlPlanes + "\n",
			globalOff + list + entries + "- config:\n    kube-controller-manager-arg: ''\n  " + forControlPlanes + "\n",
		},
		{
			"where it hides a list on etcd machines only", split + onAWS + entries + "- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n- config:\n  " + flag + "- config: {cni: calico}\n",
			split + globalOff + entries + "- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n- config:\n    kube-controller-manager-arg: []\n- config: {cni: calico}\n",
		},
		{
			"from entries for other machines, too", split + onAWS + entries + "- config: {kube-controller-manager-arg: [v=2, enable-leader-migration]}\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: [v=2, enable-leader-migration]}\n  " + forZoneA + "\n",
			split + globalOff + entries + "- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: [v=2]}\n  " + forZoneA + "\n",
		},
	})
}

// Here a key is written and the next one goes.
func TestSwitchRemovesTheFlagRightAfterTheProvider(t *testing.T) {
	const flag = "kube-controller-manager-arg: [enable-leader-migration]\n"
	switches(t, []struct{ name, before, want string }{
		{"at the end", onAWS + "  " + flag, globalOff},
		{"as a block", onAWS + "  kube-controller-manager-arg:\n  - enable-leader-migration\n", globalOff},
		{"in the middle", onAWS + "  " + flag + "  cni: calico\n", globalOff + "  cni: calico\n"},
		{"after a comment, which keeps the list", onAWS + "  # until we are external\n  " + flag, globalOff + "  # until we are external\n  kube-controller-manager-arg: []\n"},
		{"after sorted keys", onAWS + "  cni: calico\n  " + flag, "machineGlobalConfig:\n  " + isExternal + "  cni: calico\n  " + stubOff},
		{
			"in a flow mapping", "machineGlobalConfig: {cloud-provider-name: aws, kube-controller-manager-arg: [enable-leader-migration]}\n",
			"machineGlobalConfig: {cloud-provider-name: external, disable-cloud-controller: true}\n",
		},
		{
			"in an entry", "machineSelectorConfig:\n- config:\n    cloud-provider-name: aws\n    " + flag,
			"machineSelectorConfig:\n- config:\n    " + isExternal + "    " + stubOff,
		},
		{"with the stub off already", onAWS + "  " + stubOff + "  " + flag, globalOff},
		{"with the stub to set", onAWS + "  disable-cloud-controller: false\n  " + flag, globalOff},
	})
}

// The entry of the flag goes, and fields that Rancher prunes move up.
func TestSwitchKeepsFieldsThatRancherDoesNotKnow(t *testing.T) {
	const odd = "- config: {cni: calico}\n  machineLabelSelectors: {matchLabels: {a: b}}\n"
	const head = "machineSelectorConfig:\n"
	switches(t, []struct{ name, before, want string }{
		{"a misspelt selector", onAWS + head + inserted + odd, globalOff + head + odd},
	})
}

func TestSwitchIsDoneWhereEverythingIsExternal(t *testing.T) {
	for name, config := range map[string]string{
		"globally":              globalOff,
		"quoted":                "machineGlobalConfig: {cloud-provider-name: 'external', disable-cloud-controller: 'true', kube-controller-manager-arg: [v=2]}\n",
		"in an entry":           "machineSelectorConfig:\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n",
		"with a hidden aws":     onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n",
		"with aws for no class": split + globalOff + "machineSelectorConfig:\n- config: {cloud-provider-name: aws}\n  " + forZoneA + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			assert.True(t, !edited(t, config, stages.SwitchToExternal), "it is edited")
		})
	}
	config := "machineGlobalConfig:\n  " + isExternal + "  disable-cloud-controller: 1\n" // Rancher drops a number
	assert.True(t, edited(t, config, stages.SwitchToExternal), "the stub is not off, and the stage counts as done")
}

func TestTheSwitchAsksForTheRolloutFirst(t *testing.T) {
	const want = "kubectl -n kube-system rollout status daemonset/aws-cloud-controller-manager"
	actions := stageOf(t, cluster(t, onAWS), stages.SwitchToExternal).Before
	assert.Truef(t, slices.ContainsFunc(actions, func(a action.Action) bool { return a.Command == want && a.Why != "" }), "got %+v, want %q", actions, want)
}

func TestTheCheckOfTheSwitchCanFail(t *testing.T) {
	const kcm = "kube-controller-manager-arg"
	const not = "machines of class cp would not get "
	before := split + onAWS + "  cni: calico\n  kubelet-arg: [v=2, cloud-provider=aws]\n  " + kcm + ": [v=2, enable-leader-migration]\n"
	after := split + globalOff + "  cni: calico\n  kubelet-arg: [v=2, cloud-provider=external]\n  " + kcm + ": [v=2]\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"it holds", "", "", ""},
		{"the provider stays", isExternal, "cloud-provider-name: aws\n", not},
		{"the provider is gone", "  " + isExternal, "", "cloud-provider-name would change on machines of class cp"},
		{"another provider", isExternal, "cloud-provider-name: external-aws\n", "cloud-provider-name would change on machines of class cp"},
		{"the stub stays", "  " + stubOff, "", not},
		{"the stub is on", stubOff, "disable-cloud-controller: false\n", "disable-cloud-controller would change on machines of class cp"},
		{"the flag stays", "[v=2]", "[v=2, enable-leader-migration]", not},
		{"the flag is off", "[v=2]", "[v=2, enable-leader-migration=false]", kcm + " would change on machines of class cp"},
		{"an argument is lost", "[v=2]", "[]", kcm + " would change on machines of class cp"},
		{"the list is gone", "  " + kcm + ": [v=2]\n", "", kcm + " would change on machines of class cp"},
		{"an argument is new", "[v=2]", "[v=2, a=b]", kcm + " would change on machines of class cp"},
		{"an argument has another value", "[v=2]", "[v=3]", kcm + " would change on machines of class cp"},
		{"a kubelet stays", "cloud-provider=external", "cloud-provider=aws", not},
		{"a kubelet gets another provider", "cloud-provider=external", "cloud-provider=gce", "kubelet-arg would change on machines of class cp"},
		{"a kubelet loses its provider", ", cloud-provider=external", "", "kubelet-arg would change on machines of class cp"},
		{"another key", "calico", "canal", "cni would change on machines of class cp"},
		{"a key is gone", "  cni: calico\n", "", "cni would change on machines of class cp"},
		{"a class is gone", "- {name: workers, workerRole: true}\n", "", "the machine classes would change"},
		{"a field that Rancher does not know", "[v=2]\n", "[v=2]\nmachineGlobalConfigs: {}\n", `machineGlobalConfigs"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails(t, checked(t, stages.SwitchToExternal, before, strings.Replace(after, c.old, c.new, 1)), c.want)
		})
	}
}

func TestWhatTheSwitchPromises(t *testing.T) {
	server := effective.Class{Labels: map[string]string{effective.LabelEtcd: "true"}}
	worker := effective.Class{Labels: map[string]string{effective.LabelWorker: "true"}}
	list := func(members ...any) []any { return members }
	for _, c := range []struct {
		name        string
		class       effective.Class
		key         string
		before, now any
		want        bool
	}{
		{"aws becomes external", worker, providerKey, "aws", "external", true},
		{"another provider does not", worker, providerKey, "gce", "external", false},
		{"nothing does not", worker, providerKey, nil, "external", false},
		{"aws does not go", worker, providerKey, "aws", nil, false},
		{"external does not become aws", worker, providerKey, "external", "aws", false},
		{"the stub goes off", server, disableStub, nil, true, true},
		{"the stub is not enabled again", server, disableStub, true, false, false},
		{"nor does its key vanish", server, disableStub, true, nil, false},
		{"workers get no stub", worker, disableStub, nil, true, false},
		{"the flag goes", server, managerArgs, list("v=2", leaderFlag), list("v=2"), true},
		{"the flag and its list go", server, managerArgs, leaderFlag, nil, true},
		{"the flag does not come", server, managerArgs, list("v=2"), list("v=2", leaderFlag), false},
		{"an argument does not go", server, managerArgs, list("v=2", leaderFlag), list(), false},
		{"the order stays", server, managerArgs, list("a", "b"), list("b", "a"), false},
		{"a component becomes external", worker, "kubelet-arg", "cloud-provider=aws", "cloud-provider=external", true},
		{"a component does not become aws", worker, "kubelet-arg", "cloud-provider=external", "cloud-provider=aws", false},
		{"another argument does not become external", worker, "kubelet-arg", list("a=aws"), list("a=external"), false},
		{"any other list stays", worker, "kube-proxy-arg", list("cloud-provider=aws"), list("cloud-provider=external"), false},
		{"any other key stays", server, "cni", "calico", "canal", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, cluster(t, onAWS).switched(c.class, c.key, c.before, c.now), c.want)
		})
	}
}
