// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestStagesHaveTheNamesAndOrderOfAllFormats(t *testing.T) {
	all := stages.Names()
	for _, listed := range cluster(t, onAWS).Stages() {
		s := listed.Stage()
		i := slices.Index(all, s.Name)
		assert.Mustf(t, i >= 0, "%s is unknown or out of order", s.Name)
		all = all[i+1:]
		assert.True(t, s.Why != "" && (s.Edit == nil) == (s.Check == nil), s)
	}
}

func TestProviders(t *testing.T) {
	const none = "no cloud-provider-name reaches the machines of class "
	const entries = "machineSelectorConfig:\n"
	for _, c := range []struct{ name, config, want string }{
		{"aws", onAWS, ""},
		{"external", globalOff, ""},
		{"aws in an entry", entries + "- config: {cloud-provider-name: aws}\n  " + forControlPlanes + "\n", ""},
		{"workers may have another", split + onAWS + entries + "- config: {cloud-provider-name: none}\n  " + forWorkers + "\n", ""},
		{"none", "", "c.yaml:6: spec.rkeConfig: " + none + "controlplane; only"},
		{"null", strings.Replace(onAWS, "aws", "null", 1), "c.yaml:6: spec.rkeConfig: " + none + "controlplane; only"},
		{"empty", strings.Replace(onAWS, "aws", "''", 1), "c.yaml:6: spec.rkeConfig: " + none + "controlplane; only"},
		{"a list", strings.Replace(onAWS, "aws", "[aws]", 1), "c.yaml:6: spec.rkeConfig: " + none + "controlplane; only"},
		{"on one pool only", twoZones + entries + "- config: {cloud-provider-name: aws}\n  " + forZoneA + "\n", "c.yaml:6: spec.rkeConfig: " + none + "b; only"},
		{"another", strings.Replace(onAWS, "aws", "azure", 1), "c.yaml:8: spec.rkeConfig.machineGlobalConfig.cloud-provider-name: the cloud provider is azure, not aws"},
		{"another that wins", onAWS + entries + "- config: {cloud-provider-name: rancher-vsphere}\n", "c.yaml:10: spec.rkeConfig.machineSelectorConfig[0].config.cloud-provider-name: the cloud provider rancher-vsphere is external: nothing is to be migrated"},
	} {
		_, err := Format().Open(transform.Only(parse(t, document(release, c.config))), transform.Target{})
		fails(t, err, c.want, c.name)
		var refused *transform.Refused
		assert.Truef(t, c.want == "" || errors.As(err, &refused) && refused.Rule == transform.RuleNotMigratable && strings.HasPrefix(err.Error(), c.want), "%s: %v", c.name, err)
	}
	_, err := Format().Open(transform.Only(parse(t, document("v1.2", onAWS))), transform.Target{})
	assert.True(t, err != nil, "a version that is none was opened")
}

func TestIdentityNamesTheCluster(t *testing.T) {
	c := assert.Value(Format().Open(transform.Only(parse(t, document("null", onAWS))), transform.Target{AssumeVersion: release}))(t)
	want := transform.Identity{Format: Name, Namespace: "fleet-default", Name: "demo", Version: release}
	assert.Equal(t, c.Identity(), want)
}

func TestTheFormatsMarkerIsInEveryCluster(t *testing.T) {
	doc := parse(t, document(release, onAWS))
	d := Format()
	assert.True(t, d.Owns(doc) && d.Words.In(doc.Bytes()), d)
}

func places(nodes ...yamledit.Node) []string {
	return lists.Map(nodes, func(n yamledit.Node) string {
		return fmt.Sprintf("%d %s", n.Line(), strings.TrimPrefix(n.Path(), "spec.rkeConfig."))
	})
}

func TestExplainListsEveryClass(t *testing.T) {
	config := split + onAWS + "  kube-apiserver-arg: [v=2]\n  cni: calico\nmachineSelectorConfig:\n- config: {cni: canal, odd: 1}\n"
	classes := assert.Value(Format().Explain(transform.Only(parse(t, document(release, config))), transform.Target{}))(t)
	got := map[string][]string{}
	for _, c := range classes {
		for _, s := range c.Settings {
			got[c.Name] = append(got[c.Name], s.Key+" of "+strings.Join(places(append(s.Overridden, s.Origin)...), ", "))
		}
		for _, d := range c.Dropped {
			got[c.Name] = append(got[c.Name], "no "+d.Key+": "+string(d.Reason))
		}
		assert.Truef(t, c.Labels["rke.cattle.io/rke-machine-pool-name"] == c.Name, "%s has the labels %v", c.Name, c.Labels)
	}
	const odd = "no odd: the release does not have the key"
	server := []string{
		"cloud-provider-name of 12 machineGlobalConfig.cloud-provider-name",
		"cni of 14 machineGlobalConfig.cni, 16 machineSelectorConfig[0].config.cni",
		"kube-apiserver-arg of 13 machineGlobalConfig.kube-apiserver-arg",
		odd,
	}
	want := map[string][]string{
		"cp": server, "etcd": server,
		"workers": {server[0], "no cni: workers do not have the key", "no kube-apiserver-arg: workers do not have the key", odd},
	}
	assert.DeepEqual(t, got, want)
}

func TestExplainSaysForWhichMachinesAValueWasSet(t *testing.T) {
	config := oneNode + onAWS + "machineSelectorConfig:\n- config: {cni: canal}\n- config: {debug: true}\n  " + forControlPlanes + "\ndataDirectories: {k8sDistro: /a}\n"
	classes := assert.Value(Format().Explain(transform.Only(parse(t, document(release, config))), transform.Target{}))(t)
	want := map[string]string{
		"cloud-provider-name": "for all machines", "cni": "for all machines", "data-dir": "for all machines",
		"debug": "for machines with rke.cattle.io/control-plane-role=true",
	}
	got := map[string]string{}
	for _, s := range classes[0].Settings {
		got[s.Key] = s.Why
	}
	assert.DeepEqual(t, got, want)
}

func TestExplainTakesClustersOfAnyProvider(t *testing.T) {
	list, err := Format().Explain(transform.Only(parse(t, document(release, ""))), transform.Target{})
	assert.Truef(t, err == nil && len(list) == 7, "%v, %v", list, err)
	_, err = Format().Explain(transform.Only(parse(t, "kind: Cluster\n")), transform.Target{})
	assert.True(t, err != nil, "what is no cluster was explained")
}

func TestProgressIsReadOffTheFile(t *testing.T) {
	const done, todo, blocked = plan.Done, plan.Todo, plan.Blocked
	const flag = "  kube-controller-manager-arg: [v=2, enable-leader-migration]\n"
	lease := manifest("|", granted)
	for _, c := range []struct {
		name, config string
		target       transform.Target
		want         []plan.State
	}{
		{"nothing is done", onAWS, chosen, []plan.State{todo, todo, todo}},
		{"the switch is blocked", onAWS, transform.Target{}, []plan.State{todo, todo, blocked}},
		{"the lease is granted", lease + onAWS, chosen, []plan.State{done, todo, todo}},
		{"the flag is set", onAWS + flag, chosen, []plan.State{todo, done, todo}},
		{"half way", lease + onAWS + flag, chosen, []plan.State{done, done, todo}},
		{"done stages are not blocked", lease + onAWS + "  kube-controller-manager-arg: [v=2, enable-leader-migration]\nmachineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n", chosen, []plan.State{done, done, blocked}},
		{"external, with nothing of leader migration", globalOff, transform.Target{}, []plan.State{plan.Skipped, plan.Skipped, done}},
		{"external, with a chart that takes part", strings.Replace(charted("v1.26.6", "0.0.8"), "routes=false]", "routes=false, --enable-leader-migration=true]", 1), transform.Target{}, []plan.State{plan.Skipped, done, done}},
		{"external and granted", lease + globalOff, transform.Target{}, []plan.State{done, done, done}},
		{"external with the flag", lease + globalOff + flag, chosen, []plan.State{done, done, todo}},
		{"external with the stub", lease + "machineGlobalConfig: {cloud-provider-name: external, kube-controller-manager-arg: [v=2, enable-leader-migration]}\n", chosen, []plan.State{done, done, todo}},
		{"external with a kubelet that is not", lease + globalOff + "  kubelet-arg: [cloud-provider=aws]\n" + flag, chosen, []plan.State{done, done, todo}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planned(t, release, c.config, c.target)
			edits := []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.SwitchToExternal}
			got := lists.Map(edits, func(name string) plan.State { return step(t, p, name).State })
			for _, s := range p.Steps {
				assert.Truef(t, s.Changes() == left(s) && s.Changes() != (len(s.Edits) == 0) && (left(s) || s.State == plan.NotInFile || s.Findings == nil), "%s is %s: %+v", s.Stage.Name, s.State, s)
			}
			assert.DeepEqual(t, got, c.want)
			assert.Equal(t, p.Left(), slices.ContainsFunc(p.Steps, left), "left")
		})
	}
}

// An external manager that has the flag holds the lease and runs nothing.
func TestNoStagePutsTheFlagOnAnExternalManager(t *testing.T) {
	for name, config := range map[string]string{
		"in-tree":                          onAWS,
		"external, the stub left on":       "machineGlobalConfig: {cloud-provider-name: external}\n",
		"external, the stub off elsewhere": split + "machineGlobalConfig: {cloud-provider-name: external}\nmachineSelectorConfig:\n- config: {disable-cloud-controller: true}\n  " + forControlPlanes + "\n",
		"external, a kubelet in-tree":      globalOff + "  kubelet-arg: [cloud-provider=aws]\n",
		"one pool external":                twoZones + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n",
	} {
		for _, s := range planned(t, release, config, chosen).Steps {
			m := migrated(t, s.Documents[0].After)
			for _, class := range m.Classes {
				c := m.Effective(class)
				_, flag := args.Last(args.Of(c[managerArgs].Value), leaderFlag)
				assert.Truef(t, !class.ControlPlane() || !flag || c[providerKey].Value != external, "%s: %s puts it on machines of class %s", name, s.Stage.Name, class.Name)
			}
		}
	}
}

// What a plan does to clusters of any shape: plan itself checks that nothing is
// left, and that every step can be undone.
func TestPlansOfManyClusters(t *testing.T) {
	pools := []string{"", oneNode, split, twoZones}
	providers := []string{
		onAWS, "machineGlobalConfig: {cni: calico, cloud-provider-name: aws}\n",
		onAWS + "  kube-controller-manager-arg: [v=2]\n",
		onAWS + "  kube-controller-manager-arg: [v=2]\n  disable-cloud-controller: false\n",
		onAWS + "  kubelet-arg: cloud-provider=aws\n  kube-controller-manager-arg: v=2\n",
	}
	entries := []string{
		"", "machineSelectorConfig: []\n", "machineSelectorConfig:\n- config: {protect-kernel-defaults: false}\n",
		"machineSelectorConfig:\n- config:\n    kube-controller-manager-arg:\n    - a=b\n  " + forZoneA + "\n",
		"machineSelectorConfig:\n- config: {cloud-provider-name: aws}\n- config: {kube-controller-manager-arg: [a=b]}\n  " + forEtcd + "\n",
	}
	for _, pool := range pools {
		for _, provider := range providers {
			for _, entry := range entries {
				p := planned(t, release, pool+provider+entry, chosen)
				assert.Truef(t, left(step(t, p, stages.SwitchToExternal)), "nothing is planned for\n%s", p.Start[0].Bytes())
			}
		}
	}
}

func TestASnapshotIsRequestedByItsNumber(t *testing.T) {
	for text, want := range map[string]int64{
		`{"spec":{"rkeConfig":{"a":1}}}`:                                 1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":null}}}`:             1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":{}}}}`:               1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":{"generation":4}}}}`: 5,
	} {
		after, number, err := askForSnapshot(parse(t, text))
		assert.Must(t, err == nil && number == want, text, number, err)
		_, again, err := askForSnapshot(after)
		assert.True(t, err == nil && again == want+1, again, err)
		n, _ := after.Root().Get("spec", "rkeConfig", "etcdSnapshotCreate", "generation").Value().(float64)
		assert.True(t, int64(n) == want, after.Bytes())
	}
	_, _, err := askForSnapshot(parse(t, `{"spec":{"rkeConfig":{"etcdSnapshotCreate":{"generation":"four"}}}}`))
	assert.True(t, err != nil, "a number that is none")
}
