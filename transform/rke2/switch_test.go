// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const (
	isExternal = "cloud-provider-name: external\n"
	stubOff    = "disable-cloud-controller: true\n"
	globalOff  = "machineGlobalConfig:\n  " + isExternal + "  " + stubOff
)

// What the switch makes of the provider, with its marks: alone, with the stub, in a flow mapping, and in an entry.
const (
	becomes    = "machineGlobalConfig:\n  cloud-provider-name: ‹aws→external›\n"
	switching  = becomes + "‹→  disable-cloud-controller: true\n›"
	inFlow     = "cloud-provider-name: ‹aws→external, disable-cloud-controller: true›"
	inAnEntry  = "- config:\n    cloud-provider-name: ‹aws→external›\n‹→    disable-cloud-controller: true\n›"
	theEntries = "machineSelectorConfig:\n"
)

func switches(t *testing.T, cases map[string]string) {
	t.Helper()
	edits(t, stages.SwitchToExternal, chosen, cases)
}

func TestSwitchEditsTheProviderThatWins(t *testing.T) {
	switches(t, map[string]string{
		"in the global configuration":  switching,
		"in double quotes":             strings.Replace(switching, "‹aws→external›", `"‹aws→external›"`, 1),
		"in single quotes":             strings.Replace(switching, "‹aws→external›", "'‹aws→external›'", 1),
		"with a comment":               strings.Replace(switching, "‹aws→external›", "‹aws→external› # in-tree", 1),
		"between other keys":           switching + "  cni: calico\n",
		"among sorted keys":            becomes + "  cni: calico\n‹→  disable-cloud-controller: true\n›  profile: cis\n",
		"in a flow mapping":            "machineGlobalConfig: {cni: calico, " + inFlow + "}\n",
		"in an entry without selector": theEntries + inAnEntry,
		"a hidden one stays":           onAWS + theEntries + inAnEntry,
		"two winners by role":          split + switching + theEntries + inAnEntry + "  " + forControlPlanes + "\n",
		"two winners in selectors":     split + theEntries + "- config: {" + inFlow + "}\n- config: {" + inFlow + "}\n  " + forControlPlanes + "\n",
		"workers take no stub":         split + theEntries + "- config: {" + inFlow + "}\n  " + forControlPlanes + "\n- config: {cloud-provider-name: ‹aws→external›}\n  " + forWorkers + "\n",
		"one pool is external already": twoZones + switching + theEntries + "- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n",
	})
}

func TestSwitchTurnsTheStubOff(t *testing.T) {
	cases := map[string]string{
		"left out after its key":  becomes + "  disable-cloud-controller:‹→ true›\n",
		"two winners":             split + becomes + "  disable-cloud-controller: ‹false→true›\n" + theEntries + "- config: {disable-cloud-controller: ‹false→true›}\n  " + forControlPlanes + "\n",
		"a hidden one stays":      becomes + "  disable-cloud-controller: false\n" + theEntries + "- config: {disable-cloud-controller: ‹null→true›}\n",
		"what workers lose stays": split + becomes + "  " + stubOff + theEntries + "- config: {disable-cloud-controller: false}\n  " + forWorkers + "\n",
		"off for control planes, absent for etcd machines": split + switching + theEntries + "- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
	}
	for _, stays := range []string{"true", `"true"`, "'1'", "yes"} {
		cases[stays] = becomes + "  disable-cloud-controller: " + stays + "\n"
	}
	for _, goes := range []string{"false", `"false"`, "no", "null", "''", "'on'", "[true]", "{a: true}", "1"} { // Rancher drops a number
		cases[goes] = becomes + "  disable-cloud-controller: ‹" + goes + "→true›\n"
	}
	switches(t, cases)
}

func TestSwitchMakesComponentsExternal(t *testing.T) {
	cases := map[string]string{
		"in entries for other machines, too": split + switching + theEntries + "- config: {kubelet-arg: [cloud-provider=‹aws→external›]}\n  " + forWorkers + "\n",
		"next to the flag":                   switching + "  kube-controller-manager-arg: [cloud-provider=‹aws→external›‹, enable-leader-migration→›]\n",
	}
	for _, key := range []string{"kubelet-arg", "kube-apiserver-arg", "kube-controller-manager-arg"} {
		for _, list := range []string{
			"cloud-provider=‹aws→external›",
			"--cloud-provider=‹aws→external›",
			"'cloud-provider=‹aws→external›'",
			"[v=2, cloud-provider=‹aws→external›]",
			"[--cloud-provider=‹aws→external›, --v=2]",
			"[cloud-provider=external, cloud-provider=‹aws→external›]",
			"[cloud-provider=aws, cloud-provider=external]",
			"[cloud-provider=, v=2]",
			"[cloud-provider-name=aws]",
			"[cloud-config=/etc/aws.conf, cloud-provider=‹aws→external›, 2]",
		} {
			if key == managerArgs && strings.Contains(list, "cloud-provider=,") {
				continue // a manager without a provider is refused
			}
			cases[key+" "+list] = switching + "  " + key + ": " + list + "\n"
		}
	}
	switches(t, cases)
}

func TestSwitchRemovesTheFlag(t *testing.T) {
	const list = "  kube-controller-manager-arg: [v=2]\n"
	const emptied = "- config:‹\n    kube-controller-manager-arg: [enable-leader-migration]→ {}›\n"
	const ofOthers = "- config: {kube-controller-manager-arg: [v=2‹, enable-leader-migration→›]}\n  "
	// The provider is last, so that nothing is written next to the flag.
	const args = "machineGlobalConfig:\n  kube-controller-manager-arg:"
	const tail = "  cni: calico\n  cloud-provider-name: ‹aws→external›\n‹→  disable-cloud-controller: true\n›"
	switches(t, map[string]string{
		"from a list":                           args + "\n  - v=2\n‹  - enable-leader-migration\n→›" + tail,
		"from a flow list":                      args + " [‹enable-leader-migration, →›v=2]\n" + tail,
		"with dashes":                           args + " [v=2‹, --enable-leader-migration=true→›]\n" + tail,
		"when it is off":                        args + " [v=2‹, enable-leader-migration=false→›]\n" + tail,
		"twice":                                 args + " [‹enable-leader-migration, →›v=2‹, enable-leader-migration→›]\n" + tail,
		"nowhere":                               args + " [v=2]\n" + tail,
		"with the list that held nothing else":  "machineGlobalConfig:\n‹  kube-controller-manager-arg: [enable-leader-migration]\n→›" + tail,
		"with the string":                       "machineGlobalConfig:\n‹  kube-controller-manager-arg: enable-leader-migration\n→›" + tail,
		"and with its value":                    "machineGlobalConfig:\n‹  kube-controller-manager-arg: '--enable-leader-migration=true'\n→›" + tail,
		"with the entry that held nothing else": switching + theEntries + "‹" + inserted + "→›" + plain,
		"with the last entry":                   oneNode + switching + "machineSelectorConfig:‹\n" + inserted + "→ []\n›",
		"and keeps an entry with another key":   switching + theEntries + "- config:\n‹    kube-controller-manager-arg: [enable-leader-migration]\n→›    kubelet-arg: [v=2]\n  " + forControlPlanes + "\n",
		"and keeps an entry with a field that Rancher does not know": switching + theEntries + "- name: mine\n  " + emptied[2:] + "  " + forControlPlanes + "\n",
		"and keeps a misspelt selector":                              switching + theEntries + "‹" + inserted + "→›- config: {cni: calico}\n  machineLabelSelectors: {matchLabels: {a: b}}\n",
		"and keeps an entry without selector":                        switching + theEntries + emptied,
		"and keeps an entry with an empty selector":                  switching + theEntries + emptied + "  machineLabelSelector: {}\n",
		"and keeps an empty list that hides another":                 switching + list + theEntries + "- config:\n    kube-controller-manager-arg: [‹enable-leader-migration→›]\n  " + forControlPlanes + "\n",
		"and keeps an empty string that hides another":               switching + list + theEntries + "- config:\n    kube-controller-manager-arg: ‹enable-leader-migration→''›\n  " + forControlPlanes + "\n",
		"where it hides a list on etcd machines only":                split + switching + theEntries + "- config: {kube-controller-manager-arg: [v=2]}\n  " + forEtcd + "\n- config:\n    kube-controller-manager-arg: [‹enable-leader-migration→›]\n- config: {cni: calico}\n",
		"from entries for other machines, too":                       split + switching + theEntries + ofOthers + forEtcd + "\n" + ofOthers + forZoneA + "\n",
	})
}

// Here a key is written and the next one goes.
func TestSwitchRemovesTheFlagRightAfterTheProvider(t *testing.T) {
	const flag, goes = "kube-controller-manager-arg: [enable-leader-migration]", "‹  kube-controller-manager-arg: [enable-leader-migration]\n→›"
	switches(t, map[string]string{
		"at the end":                            switching + goes,
		"as a block":                            switching + "‹  kube-controller-manager-arg:\n  - enable-leader-migration\n→›",
		"in the middle":                         switching + goes + "  cni: calico\n",
		"after a comment, which keeps the list": switching + "  # until we are external\n  kube-controller-manager-arg: [‹enable-leader-migration→›]\n",
		"after sorted keys":                     becomes + "  cni: calico\n  ‹" + flag + "→disable-cloud-controller: true›\n",
		"in a flow mapping":                     "machineGlobalConfig: {cloud-provider-name: ‹aws→external›, ‹" + flag + "→disable-cloud-controller: true›}\n",
		"in an entry":                           theEntries + inAnEntry + "‹    " + flag + "\n→›",
		"with the stub off already":             becomes + "  " + stubOff + goes,
		"with the stub to set":                  becomes + "  disable-cloud-controller: ‹false→true›\n" + goes,
	})
}

func TestTheOverrideOfAllComponentsNeedsOneGlobalConfiguration(t *testing.T) {
	const lists = "  kubelet-arg:\n  - cloud-provider=external\n  kube-apiserver-arg:\n  - cloud-provider=external\n  kube-controller-manager-arg:\n  - cloud-provider=external\n"
	const entry = theEntries + "- config:\n    cloud-provider-name: aws\n‹→    disable-cloud-controller: true\n›"
	edits(t, stages.SwitchToExternal, transform.Target{EndState: transform.EndStateOverride, NoLeaderMigration: true}, map[string]string{
		"absent": entry + "‹→machineGlobalConfig:\n" + lists + "›",
		"null":   "machineGlobalConfig:\n‹→" + lists + "›" + entry,
		"empty":  "machineGlobalConfig:‹ {}→›\n‹→" + lists + "›" + entry,
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
		assert.True(t, !edited(t, config, stages.SwitchToExternal), name)
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
		{"a field that Rancher does not know", "[v=2]\n", "[v=2]\nmachineGlobalConfigs: {}\n", `machineGlobalConfigs"`},
	} {
		fails(t, checked(t, stages.SwitchToExternal, before, strings.Replace(after, c.old, c.new, 1)), c.want, c.name)
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
		assert.Equal(t, cluster(t, onAWS).switched(c.class, c.key, c.before, c.now), c.want, c.name)
	}
}

// kube-apiserver lost the flags in 1.33, and does not start with them.
func TestSwitchRemovesTheFlagsThatKubeAPIServerLost(t *testing.T) {
	const (
		late     = "v1.33.3+rke2r1"
		list     = "  kube-apiserver-arg: "
		external = split + globalOff
		entries  = "machineSelectorConfig:\n"
	)
	for _, c := range []struct{ name, version, before, want string }{
		{"among others", late, external + list + "[v=2, cloud-provider=aws, a=b]\n", external + list + "[v=2, a=b]\n"},
		{"in a block", late, external + list + "\n  - v=2\n  - --cloud-provider=external # by hand\n", external + list + "\n  - v=2\n  # by hand\n"},
		{"alone", late, external + list + "[cloud-provider=aws]\n", external},
		{"alone, as a string", late, external + list + "cloud-provider=aws\n", external},
		{"with the configuration", late, external + list + "[cloud-provider=aws, cloud-config=/etc/aws.conf]\n", external},
		{"in an entry", late, external + entries + "- config: {kube-apiserver-arg: [v=2, cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + entries + "- config: {kube-apiserver-arg: [v=2]}\n  " + forControlPlanes + "\n"},
		{"alone in an entry", late, external + entries + "- config: {kube-apiserver-arg: [cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + entries + "- config: {}\n  " + forControlPlanes + "\n"},
		{"in an entry that hides others", late, external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: [cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: []}\n  " + forControlPlanes + "\n"},
		{"in both", late, external + list + "[v=2, cloud-provider=aws]\n" + entries + "- config: {kube-apiserver-arg: [v=4, cloud-provider=aws]}\n  " + forControlPlanes + "\n", external + list + "[v=2]\n" + entries + "- config: {kube-apiserver-arg: [v=4]}\n  " + forControlPlanes + "\n"},
		{"with the provider", late, split + onAWS + list + "[v=2, cloud-provider=aws]\n", split + "machineGlobalConfig:\n  cloud-provider-name: aws\n  " + stubOff + list + "[v=2]\n  kubelet-arg:\n  - cloud-provider=external\n  kube-controller-manager-arg:\n  - cloud-provider=external\n"},
		{"not on 1.32", "v1.32.7+rke2r1", external + list + "[v=2, cloud-provider=external]\n", external + list + "[v=2, cloud-provider=external]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, afterAt(t, c.version, c.before, stages.SwitchToExternal, transform.Target{}), c.want)
		})
	}
}

// The override gives kube-apiserver no flag that the release of the same edit does not have.
func TestSwitchToAReleaseWithoutTheFlagDoesNotWriteIt(t *testing.T) {
	got := afterAt(t, "v1.32.7+rke2r1", split+onAWS+"  kube-apiserver-arg: [v=2]\n", stages.SwitchToExternal, transform.Target{Version: "v1.33.3+rke2r1"})
	assert.Truef(t, !strings.Contains(got, "kube-apiserver-arg: [v=2, cloud-provider") && strings.Contains(got, "kubelet-arg:\n  - cloud-provider=external\n"), "got\n%s", got)
}

// A kube-apiserver that exits serves no chart, so the switch comes first. A cluster that is
// external may have its manager in another way.
func TestAClusterWhoseKubeAPIServerExitsIsBroken(t *testing.T) {
	const flag = "  kube-apiserver-arg: [cloud-provider=external]\n"
	for _, c := range []struct {
		version, config string
		want            transform.Situation
	}{
		{"v1.33.3+rke2r1", onAWS + flag, transform.Broken},
		{"v1.33.3+rke2r1", onAWS, transform.NamesOnly},
		{"v1.32.7+rke2r1", onAWS + flag, transform.NamesOnly},
		{"v1.33.3+rke2r1", globalOff + flag, transform.External},
	} {
		m := targeted(t, parse(t, document(c.version, split+c.config)), transform.Target{Version: "v1.33.3+rke2r1"})
		assert.Truef(t, m.Target.Situation == c.want, "%s at %s: %s", c.config, c.version, m.Target.Situation)
	}
}

func TestTheSwitchNamesAFlagThatItRemoves(t *testing.T) {
	for list, want := range map[string]bool{"[v=2]": false, "[cloud-config=/a]": true} {
		m := migrated(t, parse(t, document("v1.33.3+rke2r1", split+globalOff+"  kube-apiserver-arg: "+list+"\n")))
		assert.Equal(t, strings.Contains(stageOf(t, m, stages.SwitchToExternal).Why, "The edit removes cloud-config from kube-apiserver-arg"), want, list)
	}
}

// Rancher's page leaves the stub on; no manager hands over any more.
func TestWhatIsLeftOfAMadeSwitchHasNoGap(t *testing.T) {
	page := split + onAWS + own + api + toOwn
	s := step(t, planned(t, release, page, transform.Target{}), stages.SwitchToExternal)
	assert.True(t, s.State == plan.Todo && s.Stage.Gap == (transform.Span{}) && strings.HasPrefix(s.Stage.Why, "The provider is external already; "), s.State, s.Stage.Gap, s.Stage.Why)
	flagged := strings.Replace(page, "manager-arg: [", "manager-arg: [enable-leader-migration=true, ", 1)
	assert.True(t, flagged != page, page)
	s = step(t, planned(t, release, flagged, transform.Target{}), stages.SwitchToExternal)
	assert.Equal(t, s.Stage.Gap.String(), "16 to 20 seconds", "kube-controller-manager holds the lease, and runs nothing")
}
