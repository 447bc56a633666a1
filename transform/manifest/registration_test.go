// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// registration returns what registers a node, with these arguments of its kubelet.
func registration(kind, version, kubeletArgs string) string {
	return "apiVersion: kubeadm.k8s.io/" + version + "\nkind: " + kind + "\nnodeRegistration:\n  name: cp-1\n" + kubeletArgs
}

const (
	mapped = "  kubeletExtraArgs:\n    cloud-provider: aws # of the machine\n    v: \"2\"\n"
	listed = "  kubeletExtraArgs:\n  - name: v\n    value: \"2\"\n  - name: cloud-provider\n    value: aws\n"
)

// kept is for nodes that are known to keep their names.
var kept = transform.Target{EndState: transform.EndStateExternal}

func TestTheSwitchMakesTheKubeletsOfNewNodesExternal(t *testing.T) {
	for name, in := range map[string]string{
		"an InitConfiguration":             registration(kindInit, "v1beta3", mapped),
		"a JoinConfiguration":              registration(kindJoin, "v1beta3", mapped),
		"an old one":                       registration(kindJoin, "v1beta2", mapped),
		"arguments as a list":              registration(kindInit, "v1beta4", listed),
		"a list in a JoinConfiguration":    registration(kindJoin, "v1beta4", listed),
		"a mapping in one line":            registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: aws}\n"),
		"one whose release is not assumed": registration(kindJoin, "v1beta3", mapped),
	} {
		p := planned(t, in, kept)
		assert.Equal(t, states(p), "switch-to-external todo", name)
		want := strings.NewReplacer("cloud-provider: aws", "cloud-provider: external", "value: aws", "value: external").Replace(in)
		got := after(t, p, stages.SwitchToExternal)
		assert.Equal(t, got, want, name)
		again := planned(t, got, kept)
		assert.Truef(t, !again.Left(), "%s: planned again, something is left: %s", name, states(again))
		steps := assert.Value(undone(t, got, stages.SwitchToExternal, transform.Target{}))(t)
		assert.Equal(t, string(steps[len(steps)-1].After()[0].Bytes()), in, name)
	}
}

func TestNothingElseOfANewNodeIsPlanned(t *testing.T) {
	for name, in := range map[string]string{
		"a node without arguments":    registration(kindInit, "v1beta3", ""),
		"a node without a provider":   registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {v: \"2\"}\n"),
		"a list without a provider":   registration(kindJoin, "v1beta4", "  kubeletExtraArgs: [{name: v, value: \"2\"}]\n"),
		"a KubeletConfiguration":      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
		"another group's JoinConfig.": "apiVersion: example.com/v1\nkind: JoinConfiguration\nnodeRegistration: {kubeletExtraArgs: {cloud-provider: aws}}\n",
	} {
		assert.Truef(t, !Format().Owns(parse(t, in)), "%s is taken for one of a cluster on AWS", name)
	}
}

func TestNewNodesOfOtherCloudsAndWrongTypesAreRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"another provider", registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: gce}\n"), "m.yaml:5: nodeRegistration.kubeletExtraArgs.cloud-provider: the cloud provider is not aws"},
		{"a number", registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: aws, v: 2}\n"), "m.yaml:5: nodeRegistration.kubeletExtraArgs.v: not a flag with a string"},
		{"a name that is none", strings.Replace(registration(kindInit, "v1beta3", mapped), "cp-1", "[a]", 1), "m.yaml:4: nodeRegistration.name: "},
	} {
		assert.Error(Format().Open(transform.Only(parse(t, c.in)), transform.Target{}))(t, c.want, c.name)
	}
}

func TestKubeletsOfNewNodesAreCheckedForTheirRelease(t *testing.T) {
	in := registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: aws, feature-gates: CSIMigrationAWS=false}\n")
	for _, c := range []struct {
		rule, want string
		target     transform.Target
	}{
		{"in-tree-gone", "", transform.Target{}},
		{"in-tree-gone", "5 error", transform.Target{Version: "v1.27.16"}},
		{"in-tree-gone", "5 error", transform.Target{AssumeVersion: "v1.28.1"}},
		{"csi-gate-stale", "5 error", transform.Target{AssumeVersion: "v1.25.1"}},
		{"csi-gate-stale", "", transform.Target{}},
		{"leader-election-off", "", transform.Target{}},
	} {
		assert.Equal(t, found(t, "m.yaml", in, c.rule, c.target), c.want, c.rule, c.target)
	}
}

func TestKubeletsDoNotGoBackToAProviderThatIsGone(t *testing.T) {
	in := registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: external}\n")
	assert.Error(undone(t, in, stages.SwitchToExternal, transform.Target{AssumeVersion: "v1.27.1"}))(t, "Kubernetes 1.27 and later have no in-tree provider to roll back to")
}

// The kubelets that run are changed last, and go back first.
func TestKubeletsThatRunComeLast(t *testing.T) {
	p := planned(t, registration(kindJoin, "v1beta3", mapped), transform.Target{})
	s, _ := p.Step(stages.SwitchToExternal)
	last := s.Stage.After[len(s.Stage.After)-1]
	assert.Truef(t, len(s.Stage.Before) == 0 && strings.HasPrefix(last.Why, "at the end") && strings.Contains(last.Command, "--cloud-provider=aws/--cloud-provider=external"), "%d actions come before the edit; the last one: %s: %s", len(s.Stage.Before), last.Why, last.Command)
	first := s.Stage.UndoBefore[0]
	assert.Truef(t, len(s.Stage.UndoBefore) == 1 && strings.HasPrefix(first.Why, "first"), "%d actions come before the undo; the first one: %s", len(s.Stage.UndoBefore), first.Why)
}

func TestCommandsNameTheFileThatWasRead(t *testing.T) {
	upload := func(file string) string {
		doc := parseAs(t, file, configuration("  extraArgs: {cloud-provider: aws}\n"))
		p := assert.Value(plan.Build(Format(), transform.Only(doc), transform.Target{}))(t)
		s, _ := p.Step(stages.EnableLeaderMigration)
		return s.Stage.After[0].Command
	}
	for file, want := range map[string]string{
		"clusters/kubeadm.yaml": "kubeadm init phase upload-config kubeadm --config clusters/kubeadm.yaml",
		"<stdin>":               "kubeadm init phase upload-config kubeadm --config ClusterConfiguration.yaml",
	} {
		assert.Equal(t, upload(file), want)
	}
	for file, want := range map[string]string{
		"/etc/kubernetes/manifests/kcm.yaml": "/etc/kubernetes/manifests/kcm.yaml",
		"manifests/kcm.yaml":                 "/etc/kubernetes/manifests/kube-controller-manager.yaml",
	} {
		by := deliver(parseAs(t, file, static(onAWS)), "new.yaml")
		assert.Truef(t, strings.HasSuffix(by.Command, " "+want), "%s is brought there by %s, want %s", file, by.Command, want)
	}
}

// The first edit of this document is the switch, and what comes before it is in others.
func TestNewKubeletsWaitForTheManagers(t *testing.T) {
	for provider, want := range map[string]string{"aws": stages.InstallCCM, "external": ""} {
		m := opened(t, registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: "+provider+"}\n"), transform.Target{})
		assert.Equal(t, strings.Join(m.registrationSwitch().AfterManual, " "), want, provider)
	}
}

// The kubelets, which become external in between, have no manifest.
func TestTheFlagLeavesAfterTheKubelets(t *testing.T) {
	for keep, want := range map[bool]string{false: stages.SwitchToExternal, true: ""} {
		m := opened(t, cloud(onAWS, "--enable-leader-migration"), transform.Target{KeepLeaderMigration: keep})
		assert.Equal(t, strings.Join(m.disableLeaderMigration().AfterManual, " "), want, keep)
	}
	assert.Equal(t, len(opened(t, cloud(onAWS), transform.Target{}).disableLeaderMigration().AfterManual), 0)
}

// Under the in-tree provider EC2 names the node; kubeadm's own name counts as soon
// as the kubelet is external.
func TestNodesOfKubeadmMayBeRenamed(t *testing.T) {
	named := func(name string) string {
		return strings.Replace(registration(kindJoin, "v1beta3", mapped), "cp-1", name, 1)
	}
	for _, c := range []struct{ name, in, want, state string }{
		{"a name of one's own", named("cp-1"), "6 warning", "blocked"},
		{"EC2's name", named("ip-10-0-1-7.eu-west-1.compute.internal"), "", "todo"},
		{"EC2's name in its first region", named("ip-10-0-1-7.ec2.internal"), "", "todo"},
		{"an override next to it", registration(kindJoin, "v1beta3", "  kubeletExtraArgs: {cloud-provider: aws, hostname-override: ip-10-0-1-7.ec2.internal}\n"), "", "todo"},
		{"no name", strings.Replace(registration(kindJoin, "v1beta3", mapped), "  name: cp-1\n", "", 1), "5 warning", "blocked"},
	} {
		assert.Equal(t, found(t, "m.yaml", c.in, "node-rename", transform.Target{}), c.want, c.name)
		assert.Equal(t, states(planned(t, c.in, transform.Target{})), "switch-to-external "+c.state, c.name)
	}
	assert.Equal(t, found(t, "m.yaml", named("cp-1"), "node-rename", kept), "", "with a choice")
}
