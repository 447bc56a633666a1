// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	windowsPool = "machinePools:\n- {name: cp, controlPlaneRole: true, etcdRole: true}\n- {name: win, workerRole: true, machineOS: windows}\n"
	own         = kcm + toOwn + kubelet + toOwn
)

// hostNames are what is known of two Nodes.
func hostNames(first, second string) transform.HostNames {
	return transform.HostNames{"ip-10-0-1-5.ec2.internal": first, "ip-10-0-1-6.ec2.internal": second}
}

var (
	equalNames = hostNames("ip-10-0-1-5.ec2.internal", "ip-10-0-1-6.ec2.internal")
	otherNames = hostNames("ip-10-0-1-5.ec2.internal", "quay-2")
	halfKnown  = hostNames("ip-10-0-1-5.ec2.internal", "")
)

// switched plans the switch, and returns the name of the provider after it and the findings of node-rename in it.
func switched(t *testing.T, version, config string, target transform.Target) (provider string, state plan.State, found []transform.Finding) {
	t.Helper()
	s := step(t, planned(t, version, config, target), stages.SwitchToExternal)
	provider = external
	if strings.Contains(string(s.After()[0].Bytes()), "cloud-provider-name: aws") {
		provider = inTree
	}
	return provider, s.State, about(s.Findings, "node-rename")
}

func TestTheEndStateFollowsFromWhatIsKnownOfNames(t *testing.T) {
	const late, never = "v1.31.4+rke2r1", "v1.28.15+rke2r1"
	asked := func(end string, known transform.HostNames, accept ...string) transform.Target {
		return transform.Target{EndState: end, HostNames: known, Accept: accept}
	}
	live := func(known transform.HostNames) transform.Target {
		return transform.Target{HostNames: known, Machines: &transform.Machines{}}
	}
	for _, c := range []struct {
		name, version, config string
		target                transform.Target
		provider              string // after the switch
		severity              transform.Severity
		state                 plan.State
		says                  string
	}{
		{"pools, unasked", release, split + onAWS, transform.Target{}, inTree, transform.Note, plan.Todo, "external renames every node of the machine pools cp, etcd, workers, later ones as well: "},
		{"pools of the first release", "v1.22.17+rke2r1", split + onAWS, transform.Target{}, inTree, transform.Note, plan.Todo, "the end state is aws-override: "},
		{"pools past 1.26", never, split + onAWS, transform.Target{}, inTree, transform.Note, plan.Todo, "the end state is aws-override: external renames every node of the machine pools"},
		{"pools where aws is a name alone", late, split + onAWS, transform.Target{}, inTree, transform.Note, plan.Todo, "does nothing else"},
		{"pools, override", release, split + onAWS, asked(transform.EndStateOverride, nil), inTree, "", plan.Todo, ""},
		{"pools, external", release, split + onAWS, asked(transform.EndStateExternal, nil), external, transform.Error, plan.Blocked, "external renames every node of the machine pools cp, etcd, workers"},
		{"pools, external and accepted", release, split + onAWS, asked(transform.EndStateExternal, nil, "node-rename"), external, transform.Error, plan.Todo, "external renames"},
		{"pools past 1.26, external", late, split + onAWS, asked(transform.EndStateExternal, nil), external, transform.Error, plan.Blocked, "external renames"},
		{"pools, and a file with equal names: later machines have others", release, split + onAWS, asked("", equalNames), inTree, transform.Note, plan.Todo, "external renames"},
		{"pools of a live cluster", release, split + onAWS, live(hostNames("orchard-cp-1", "orchard-cp-2")), inTree, transform.Note, plan.Todo, "(ip-10-0-1-5.ec2.internal to orchard-cp-1, ip-10-0-1-6.ec2.internal to orchard-cp-2)"},
		{"pools of a live cluster whose Nodes have the names of machines", release, split + onAWS, live(equalNames), external, "", plan.Todo, ""},
		{"custom machines", release, onAWS, transform.Target{}, external, transform.Error, plan.Blocked, "the host names are not known"},
		{"custom machines, and a choice", release, onAWS, asked(transform.EndStateExternal, nil), external, "", plan.Todo, ""},
		{"custom machines with equal names", release, onAWS, asked("", equalNames), external, "", plan.Todo, ""},
		{"custom machines, one of them unknown", release, onAWS, asked("", halfKnown), external, transform.Error, plan.Blocked, "the host names of ip-10-0-1-6.ec2.internal are not known"},
		{"a choice does not answer for it", release, onAWS, asked(transform.EndStateExternal, halfKnown), external, transform.Error, plan.Blocked, "add the host names of ip-10-0-1-6.ec2.internal to the file of --host-names; or choose --end-state aws-override"},
		{"one differs, and one is unknown", release, onAWS, asked(transform.EndStateExternal, hostNames("quay-1", "")), external, transform.Error, plan.Blocked, "external renames ip-10-0-1-5.ec2.internal to quay-1, and perhaps ip-10-0-1-6.ec2.internal: "},
		{"custom machines with another name", release, onAWS, asked("", otherNames), inTree, transform.Note, plan.Todo, "external renames ip-10-0-1-6.ec2.internal to quay-2: "},
		{"a choice does not answer for that either", release, onAWS, asked(transform.EndStateExternal, otherNames), external, transform.Error, plan.Blocked, "external renames ip-10-0-1-6.ec2.internal to quay-2: "},
		{"a node-name that aws overwrites", late, onAWS, asked(transform.EndStateExternal, otherNames), external, transform.Error, plan.Blocked, "node-name of the machine, which aws overwrites"},
		{"custom machines past 1.26", late, onAWS, transform.Target{}, inTree, transform.Note, plan.Todo, "the end state is aws-override: the host names are not known"},
		{"control planes external, workers not: not turned round", release, split + globalOff + "machineSelectorConfig:\n- config: {cloud-provider-name: aws}\n  " + forWorkers + "\n", transform.Target{}, external, transform.Error, plan.Blocked, "external renames every node of the machine pools workers,"},
		{"workers external, control planes not: nothing is taken", release, split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external}\n  " + forWorkers + "\n", transform.Target{}, inTree, transform.Error, plan.Blocked, "class workers have the external provider, those of class cp, etcd aws, so no end state is taken: external renames every node of the machine pools cp, etcd,"},
		{"the same, and a choice", release, split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external}\n  " + forWorkers + "\n", asked(transform.EndStateOverride, nil), inTree, "", plan.Todo, ""},
		{"an external cluster without the key for the stub", release, split + "machineGlobalConfig:\n  " + isExternal, transform.Target{}, external, "", plan.Todo, ""},
		{"overridden, and one list without the override", release, split + onAWS + own + "machineSelectorConfig:\n- config: {kubelet-arg: [v=2]}\n  " + forWorkers + "\n", transform.Target{}, inTree, transform.Note, plan.Todo, "the end state is aws-override"},
	} {
		provider, state, list := switched(t, c.version, c.config, c.target)
		assert.Mustf(t, provider == c.provider && state == c.state && len(list) > 0 == (c.severity != ""), "%s: %s, %s: %+v", c.name, provider, state, list)
		for _, f := range list {
			assert.Truef(t, f.Severity == c.severity && strings.Contains(f.Message+"; "+f.Fix, c.says) && f.Fix != "", "%s: %s: %s; %s", c.name, f.Severity, f.Message, f.Fix)
		}
	}
}

// Rancher loads its metadata from the network, so a release alone does not show whether the key arrives.
func TestTheKeyThatKeepsNamesIsOfferedWhereAMachineMayGetIt(t *testing.T) {
	const offer = "; with node-name-from-cloud-provider-metadata: true it keeps them, where /etc/rancher/rke2/config.yaml.d/50-rancher.yaml on the machines holds that key"
	const servers = "machinePools:\n- {name: cp, controlPlaneRole: true, etcdRole: true}\n"
	for _, c := range []struct {
		name, version, config string
		want                  bool
	}{
		{"servers", "v1.33.9+rke2r1", servers + onAWS, true},
		{"custom machines, which may be workers", "v1.33.9+rke2r1", onAWS, false},
		{"workers", "v1.33.9+rke2r1", split + onAWS, false},
		{"a release before", "v1.33.4+rke2r1", servers + onAWS, false},
		{"in-tree", release, servers + onAWS, false},
	} {
		for _, end := range []string{"", transform.EndStateExternal} {
			_, _, found := switched(t, c.version, c.config, transform.Target{EndState: end})
			offered := slices.ContainsFunc(found, func(f transform.Finding) bool { return strings.Contains(f.Message, offer) })
			assert.True(t, offered == c.want, c.name, end, found)
		}
	}
}

// On Windows only the in-tree kubelet took the names from the metadata, up to the releases
// in which no kubelet has it.
func TestWindowsMachinesAreRenamedByEveryEndState(t *testing.T) {
	for version, renamed := range map[string]bool{"v1.22.17": true, "v1.26.15": true, "v1.29.10": true, "v1.29.11": false, "v1.30.6": true, "v1.30.7": false, "v1.31.2": true, "v1.31.3": false} {
		for _, end := range []string{"", transform.EndStateExternal, transform.EndStateOverride} {
			_, state, list := switched(t, version+"+rke2r1", windowsPool+onAWS, transform.Target{EndState: end})
			says := slices.ContainsFunc(list, func(f transform.Finding) bool {
				return f.Severity == transform.Error && strings.Contains(f.Message, "any end state renames Windows machines")
			})
			assert.Truef(t, says == renamed && state == plan.Blocked == (renamed || end == transform.EndStateExternal), "%s, %q: %s, %+v", version, end, state, list)
			_, state, _ = switched(t, version+"+rke2r1", windowsPool+onAWS, transform.Target{EndState: end, Accept: []string{"node-rename"}})
			assert.Equal(t, state, plan.Todo, version, end, "accepted")
		}
	}
	machines := func(os string) transform.Target {
		return transform.Target{HostNames: equalNames, Machines: &transform.Machines{{effective.LabelOS: "linux"}, {effective.LabelOS: os}}}
	}
	for os, want := range map[string]plan.State{"linux": plan.Todo, "windows": plan.Blocked} {
		_, state, list := switched(t, release, onAWS, machines(os))
		assert.Truef(t, state == want, "custom machines with %s: %s, %+v", os, state, list)
	}
}

func TestNodeRenameInTheDocumentAsItIs(t *testing.T) {
	external := transform.Target{EndState: transform.EndStateExternal}
	checkRule(t, "node-rename", []ruleCase{
		{"custom machines", "", onAWS, transform.Target{}, []string{"warning 8"}},
		{"custom machines with equal names", "", onAWS, transform.Target{HostNames: equalNames}, nil},
		{"with a choice", "", onAWS, external, nil},
		{"pools keep their names", "", split + onAWS, transform.Target{}, nil},
		{"pools and external", "", split + onAWS, external, []string{"warning 12"}},
		{"Windows", "", windowsPool + onAWS, transform.Target{}, []string{"warning 11"}},
		{"workers apart", "", split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external}\n  " + forWorkers + "\n", transform.Target{}, []string{"warning 12"}},
		{"external", "", globalOff, transform.Target{}, nil},
		{"overridden", "", onAWS + own, transform.Target{}, nil},
		{"a release whose aws only names nodes", "v1.31.4+rke2r1", onAWS, transform.Target{}, nil},
		{"external there", "v1.31.4+rke2r1", globalOff, transform.Target{}, nil},
		{"another provider", "", "machineGlobalConfig: {cloud-provider-name: harvester}\n", transform.Target{}, nil},
	})
}

func TestNodeRenameIsWhereTheProviderWins(t *testing.T) {
	config := split + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: aws}\n  " + forControlPlanes + "\n"
	_, _, list := switched(t, release, config, chosen)
	for i, path := range []string{"spec.rkeConfig.machineGlobalConfig.cloud-provider-name", "spec.rkeConfig.machineSelectorConfig[0].config.cloud-provider-name"} {
		assert.True(t, len(list) == 2 && list[i].Path == path, list)
	}
}

// The line to add, or to remove, is where the end state was chosen.
func TestNodeRenameNamesThePlaceOfTheChoice(t *testing.T) {
	for by, want := range map[string]string{
		transform.EndStateByFlag: "remove --end-state: ", transform.EndStateByObject: "accept: [node-rename] in a LeaderMigrationApproval",
		".rke-lm.yaml": "remove end-state from .rke-lm.yaml: aws-override then keeps the names; or accept the new names with the line accept: [node-rename] there",
	} {
		_, _, list := switched(t, release, split+onAWS, transform.Target{EndState: transform.EndStateExternal, EndStateBy: by})
		assert.Truef(t, len(list) == 1 && strings.Contains(list[0].Fix, want), "%s: %+v", by, list)
	}
}

// The upgrade to 1.27 waits for an override on every class.
func TestTheUpgradeWaitsForEveryOverride(t *testing.T) {
	_, _, list := switched(t, release, split+onAWS, transform.Target{})
	assert.ContainsAll(t, list[0].Fix, []string{"kubelet-arg of every machine class", "kube-controller-manager-arg and kube-apiserver-arg of the control planes", "upgrade-kubernetes refuses"})
	whole := split + onAWS + "  " + stubOff + own + api + toOwn
	for config, want := range map[string]bool{whole: true, whole + "machineSelectorConfig:\n- config: {kubelet-arg: [v=2]}\n  " + forWorkers + "\n": false} {
		doc := parse(t, document(release, config+strings.TrimPrefix(charted("v1.26.6", "0.0.8"), split+globalOff)))
		p := assert.Value(plan.Build(Format(), transform.Only(doc), transform.Target{Version: "v1.28.15+rke2r1"}))(t)
		_, has := p.Step(stages.UpgradeKubernetes)
		assert.Equal(t, has, want, "upgrade-kubernetes is planned")
	}
}

func TestUserDataSaysWhatItDoesToHostNamesOrThatIsUnknown(t *testing.T) {
	for text, want := range map[string]hosts{
		"":                                         ofMachines,
		"#cloud-config\npackages: [jq]\n":          ofMachines,
		"#cloud-config\nhostname: heron\n":         oneForAll,
		"#cloud-config\nfqdn: heron.internal\n":    oneForAll,
		"#cloud-config\nhostname: \"{{ v1 }}\"\n":  unclear,
		"#cloud-config\npreserve_hostname: true\n": unclear,
		"#cloud-config\nruncmd: [\"hostnamectl set-hostname x\"]\n": unclear,
		"#cloud-config\nwrite_files: [{path: /etc/hosts}]\n":        unclear,
		"#!/bin/sh\necho ready\n":                                   unclear,
		"Content-Type: multipart/mixed; boundary=x\n":               unclear,
		"#cloud-config\na: [\n":                                     unclear,
	} {
		assert.Equal(t, hostsOf(text), want, text)
	}
}

func TestUserDataIsThatOfTheConfigurationThatAPoolRefersTo(t *testing.T) {
	const config = "kind: Amazonec2Config\nmetadata: {name: %s, namespace: fleet-default}\nuserData: \"#cloud-config\\nhostname: heron\"\n"
	for _, c := range []struct {
		name, ref, config string
		has               bool
	}{
		{"its own", "{kind: Amazonec2Config, name: nc-a}", "nc-a", true},
		{"that of another pool", "{kind: Amazonec2Config, name: nc-a}", "nc-b", false},
		{"one without a name, next to a pool of another driver", "{kind: DigitaloceanConfig, name: nc-a}", `""`, false},
	} {
		doc := parse(t, "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: wharf, namespace: fleet-default}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n"+
			"    machineGlobalConfig: {cloud-provider-name: aws}\n    machinePools: [{name: a, controlPlaneRole: true, machineConfigRef: "+c.ref+"}]\n")
		m := assert.Value(migrationOf([]*yamledit.Document{doc}, transform.Target{Related: []*yamledit.Document{parse(t, fmt.Sprintf(config, c.config))}}))(t)
		assert.Equal(t, m.userData(m.Classes[0]).Exists(), c.has, c.name)
	}
}
