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
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// chosen is a target that accepts that nodes may be renamed.
var chosen = transform.Target{EndState: transform.EndStateExternal, Accept: []string{rules.NodeRename.ID}}

// found lists findings as rule, severity and line.
func found(list []transform.Finding) []string {
	return lists.Map(list, func(f transform.Finding) string { return fmt.Sprintf("%s %s %d", f.Rule, f.Severity, f.Line) })
}

func about(list []transform.Finding, rule string) []transform.Finding {
	return lists.Where(list, func(f transform.Finding) bool { return f.Rule == rule })
}

// snapshots is the configuration that every cluster should have.
const snapshots = "etcd: {snapshotScheduleCron: 0 */5 * * *, snapshotRetention: 5}\n"

// linted opens a configuration as lint does.
func linted(t *testing.T, version, config string, target transform.Target) transform.Cluster {
	t.Helper()
	return assert.Value(Format().Lint(transform.Only(parse(t, document(version, config))), target))(t)
}

// ruleCase is a configuration and what one rule finds in it, as severity and
// line. The first line of a configuration is line 7.
type ruleCase struct {
	name, version, config string
	target                transform.Target
	want                  []string
}

// checkRule runs cases of one rule. No version means one of the minor 1.26.
func checkRule(t *testing.T, rule string, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.version == "" {
				c.version = release
			}
			var got []string
			for _, f := range about(linted(t, c.version, c.config, c.target).Findings(""), rule) {
				got = append(got, fmt.Sprintf("%s %d", f.Severity, f.Line))
				assert.True(t, f.Message != "" && f.Fix != "" && f.File == "c.yaml" && strings.HasPrefix(f.Path, "spec"), f)
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

// repairs compares what the fixes make of configurations, and requires that the
// fixes of the result leave it alone.
func repairs(t *testing.T, cases []struct{ name, before, want string }) {
	t.Helper()
	for _, c := range cases {
		fixed, made := plan.Repair(Format(), linted(t, release, c.before, chosen), chosen)
		assert.DeepEqual(t, configOf(fixed.Documents()[0]), c.want, c.name)
		again, more := plan.Repair(Format(), fixed, chosen)
		assert.Truef(t, len(more) == 0 && (len(made) > 0) == (c.before != c.want), "%s: %v, and a second time %v:\n%s", c.name, made, more, configOf(again.Documents()[0]))
	}
}

func TestAPlainClusterHasNoFindings(t *testing.T) {
	p := planned(t, release, split+snapshots+onAWS+"  kube-controller-manager-arg: [v=2]\nmachineSelectorConfig:\n- config: {protect-kernel-defaults: false}\n", override)
	for _, name := range rules.EveryEdit {
		s := step(t, p, name)
		assert.Truef(t, s.Findings == nil, "%s: %v", name, found(s.Findings))
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	table := Format().Rules
	assert.True(t, slices.IsSortedFunc(table, func(a, b transform.Rule) int { return strings.Compare(a.ID, b.ID) }), "the rules are not sorted")
	seen := map[string]bool{}
	for _, r := range table {
		assert.True(t, !seen[r.ID] && r.ID != "" && r.Severity != "" && strings.HasSuffix(r.Doc, "."), r)
		seen[r.ID] = true
		for _, stage := range r.Guards {
			assert.Truef(t, slices.Contains(stages.Names(), stage), "%s guards %s", r.ID, stage)
		}
	}
}

func TestArgumentsThatAreOverwritten(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config:\n    "
	const kcm = "  kube-controller-manager-arg: [v=2, profiling=false, v=3]\n"
	checkRule(t, "args-overwritten", []ruleCase{
		{"the manager's", "", onAWS + kcm + entry + "kube-controller-manager-arg: [enable-leader-migration]\n", chosen, []string{"error 12"}},
		{"another component's", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: [a=b]\n", chosen, []string{"warning 12"}},
		{"by a string", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: a=b\n", chosen, []string{"warning 12"}},
		{"of a string", "", onAWS + "  kubelet-arg: v=2\n" + entry + "kubelet-arg: [a=b]\n", chosen, []string{"warning 12"}},
		{"for some machines", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: [a=b]\n  " + forWorkers + "\n", chosen, []string{"warning 12"}},
		{"one by one", "", onAWS + "  kubelet-arg: [a=1]\n" + entry + "kubelet-arg: [b=1]\n- config: {kubelet-arg: [c=1]}\n", chosen, []string{"warning 12", "warning 13"}},
		{"gone once", "", onAWS + "  kubelet-arg: [a=1]\n" + entry + "kubelet-arg: [b=1]\n- config: {kubelet-arg: [b=2]}\n", chosen, []string{"warning 12"}},
		{"all arguments stay", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: [a=b, v=2]\n", chosen, nil},
		{"another value is no loss", "", onAWS + "  kubelet-arg: [v=2, --v=3]\n" + entry + "kubelet-arg: [v=4]\n", chosen, nil},
		{"for no machine", "", split + onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: [a=b]\n  " + forZoneA + "\n", chosen, nil},
		{"for other machines", "", split + onAWS + entry + "kubelet-arg: [v=2]\n  " + forEtcd + "\n- config: {kubelet-arg: [a=b]}\n  " + forWorkers + "\n", chosen, nil},
		{"a key that takes no list", "", onAWS + "  profile: cis\n" + entry + "profile: cis-1.23\n", chosen, nil},
		{"a key that the release does not know", "", onAWS + "  no-such-arg: [v=2]\n" + entry + "no-such-arg: [a=b]\n", chosen, nil},
		{"an empty list is another rule's", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: []\n", chosen, nil},
		{"a key that workers do not take", "", split + onAWS + "  kube-apiserver-arg: [v=2]\n" + entry + "kube-apiserver-arg: [a=b]\n  " + forWorkers + "\n", chosen, nil},
		{"etcd machines take it, though", "", split + onAWS + "  kube-apiserver-arg: [v=2]\n" + entry + "kube-apiserver-arg: [a=b]\n  " + forEtcd + "\n", chosen, []string{"warning 16"}},
		{"the manager's, where no manager runs", "", split + onAWS + kcm + entry + "kube-controller-manager-arg: [a=b]\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: [c=d]}\n  " + forWorkers + "\n", chosen, nil},
	})
	list := about(linted(t, release, onAWS+kcm+entry+"kube-controller-manager-arg: [profiling=true]\n", chosen).Findings(""), "args-overwritten")
	want := "this list replaces spec.rkeConfig.machineGlobalConfig.kube-controller-manager-arg on the same machines, and these arguments are lost: v, v"
	assert.Truef(t, len(list) == 1 && list[0].Message == want && list[0].Path == "spec.rkeConfig.machineSelectorConfig[0].config.kube-controller-manager-arg", "got %+v", list)
}

func TestValuesThatAreErased(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config:\n    "
	const kcm = "  kube-controller-manager-arg: [v=2]\n"
	checkRule(t, "value-erased", []ruleCase{
		{"by null", "", onAWS + kcm + entry + "kube-controller-manager-arg: null\n", chosen, []string{"error 12"}},
		{"by nothing after the key", "", onAWS + kcm + entry + "kube-controller-manager-arg:\n", chosen, []string{"error 12"}},
		{"by a number", "", onAWS + kcm + entry + "kube-controller-manager-arg: 2\n", chosen, []string{"error 12"}},
		{"by a mapping", "", onAWS + kcm + entry + "kube-controller-manager-arg: {v: 2}\n", chosen, []string{"error 12"}},
		{"by an empty list", "", onAWS + kcm + entry + "kube-controller-manager-arg: []\n", chosen, []string{"error 12"}},
		{"by an empty string", "", onAWS + kcm + entry + "kube-controller-manager-arg: ''\n", chosen, []string{"error 12"}},
		{"of another key", "", onAWS + "  cni: calico\n" + entry + "cni: null\n", chosen, []string{"warning 12"}},
		{"for some machines", "", onAWS + "  kubelet-arg: [v=2]\n" + entry + "kubelet-arg: []\n  " + forWorkers + "\n", chosen, []string{"warning 12"}},
		{"and set again", "", onAWS + "  cni: calico\n" + entry + "cni: null\n- config: {cni: canal}\n", chosen, []string{"warning 12"}},
		{"nothing was there", "", onAWS + "  cni: null\n" + entry + "cni: ''\n", chosen, nil},
		{"something was put there", "", onAWS + "  cni: null\n" + entry + "cni: calico\n", chosen, nil},
		{"false is a value", "", onAWS + "  debug: true\n" + entry + "debug: false\n", chosen, nil},
		{"false is a value that can be erased", "", onAWS + "  debug: false\n" + entry + "debug: null\n", chosen, []string{"warning 12"}},
		{"for no machine", "", split + onAWS + "  cni: calico\n" + entry + "cni: null\n  " + forZoneA + "\n", chosen, nil},
		{"a key that the release does not know", "", onAWS + "  no-such-key: a\n" + entry + "no-such-key: null\n", chosen, nil},
		{"the manager's, where no manager runs", "", split + onAWS + kcm + entry + "kube-controller-manager-arg: []\n  " + forEtcd + "\n- config: {kube-controller-manager-arg: null}\n  " + forWorkers + "\n", chosen, nil},
	})
}

func TestFindingsOfListsNameNoValues(t *testing.T) {
	config := onAWS + "  kubelet-arg: [token=s3cr3t]\nmachineSelectorConfig:\n- config: {kubelet-arg: [a=s3cr3t]}\n- config: {kubelet-arg: []}\n"
	for _, f := range linted(t, release, config, chosen).Findings("") {
		assert.True(t, !strings.Contains(fmt.Sprint(f), "s3cr3t"), f)
	}
}

// Before the switch, and without a chart that could have it, nothing is lost.
func TestCloudConfigIsLostWhereItWins(t *testing.T) {
	checkRule(t, "cloud-config-lost", []ruleCase{
		{"none", "", onAWS, chosen, nil},
		{"of an external provider", "", globalOff + "  cloud-provider-config: '[Global]'\n", chosen, []string{"error 10"}},
		{"with a chart", "", onAWS + "  cloud-provider-config: a\nadditionalManifest: |\n  kind: HelmChart\n  spec: {chart: aws-cloud-controller-manager}\n", chosen, []string{"error 9"}},
		{"before the switch", "", onAWS + "  cloud-provider-config: '[Global]'\n", chosen, []string{"note 9"}},
		{"one for workers", "", split + onAWS + "  cloud-provider-config: a\nmachineSelectorConfig:\n- config: {cloud-provider-config: b}\n  " + forWorkers + "\n", chosen, []string{"note 13", "note 15"}},
		{"one that wins everywhere", "", onAWS + "  cloud-provider-config: a\nmachineSelectorConfig:\n- config: {cloud-provider-config: b}\n", chosen, []string{"note 11"}},
	})
}

// The configuration may still be on the machines, or in the Secret to which it was carried.
func TestServicesOfEndpointsHaveTheNamesOfTheManager(t *testing.T) {
	config := func(service string) string {
		return onAWS + "  cloud-provider-config: |\n    [ServiceOverride \"1\"]\n    Service = " + service + "\n"
	}
	const late = "v1.34.1+rke2r1"
	checkRule(t, "service-override-names", []ruleCase{
		{"a name of before", late, config("ec2"), chosen, []string{"error 9"}},
		{"the same, for a manager of before", "", config("ec2"), chosen, nil},
		{"the first one", "v1.33.0+rke2r1", config("ec2"), chosen, []string{"error 9"}},
		{"the last one of before", "v1.32.9+rke2r1", config("ec2"), chosen, nil},
		{"the same, with an upgrade to come", "", config("ec2"), transform.Target{Version: late}, []string{"error 9"}},
		{"a name of now", late, config("EC2"), chosen, nil},
		{"a Secret that is not in the file", late, onAWS + "  cloud-provider-config: secret://fleet-default:config\n", chosen, nil},
		{"carried to the manager", late, onAWS + "additionalManifest: |\n  kind: Secret\n  metadata: {name: aws-cloud-config}\n  stringData:\n    cloud.conf: |\n      [ServiceOverride \"1\"]\n      Service = kms\n", chosen, []string{"error 13"}},
	})
}

func TestProviderInSelector(t *testing.T) {
	const entry = "machineSelectorConfig:\n- config: {cloud-provider-name: aws}\n"
	checkRule(t, "provider-in-selector", []ruleCase{
		{"none", "", onAWS, chosen, nil},
		{"alone", "", entry, chosen, []string{"note 8"}},
		{"over a global one", "", onAWS + entry, chosen, []string{"note 10"}},
		{"for control planes", "", onAWS + entry + "  " + forControlPlanes + "\n", chosen, []string{"note 10"}},
		{"for no machine", "", split + onAWS + entry + "  " + forZoneA + "\n", chosen, nil},
		{"of another provider", "", strings.Replace(entry, "aws", "harvester", 1), chosen, nil},
		{"external", "", strings.Replace(entry, "aws", "external", 1), chosen, []string{"note 8"}},
	})
}

func TestWindowsPoolsAreAWarning(t *testing.T) {
	const pools = "machinePools:\n- {name: linux, etcdRole: true, controlPlaneRole: true}\n"
	checkRule(t, transform.RuleNotMigratable, []ruleCase{
		{"none", "", pools + onAWS, chosen, nil},
		{"two", "", pools + "- {name: w, workerRole: true, machineOS: windows}\n- {name: v, workerRole: true, labels: {cattle.io/os: windows}}\n" + onAWS, chosen, []string{"warning 10", "warning 9"}},
	})
}

// From some patches on aws is a name and nothing else, and the texts say so.
func TestWhereAWSOnlyNamesNodesTheTextsStateIt(t *testing.T) {
	const nothing = "does nothing else"
	for version, only := range map[string]bool{
		"v1.26.15": false, "v1.28.15": false, "v1.29.10": false, "v1.29.11": true, "v1.30.6": false, "v1.30.7": true,
		"v1.31.2": false, "v1.31.3": true, "v1.31.3-rc1": true, "v1.32.0": true, "v1.34.1": true,
	} {
		p := planned(t, version+"+rke2r1", onAWS, transform.Target{})
		s := step(t, p, stages.SwitchToExternal)
		c := assert.Value(lint(p.Start, transform.Target{}))(t)
		for _, f := range append(about(c.Findings(""), "node-rename"), about(s.Findings, "node-rename")...) {
			assert.Equal(t, strings.Contains(f.Message, nothing), only, version, f.Message, f.Fix)
		}
		assert.Truef(t, strings.Contains(s.Stage.Why, nothing) == only && strings.Contains(s.Stage.Why, "the waiting cloud-controller-manager acquires the migration lease.") == (version == "v1.26.15"), "%s: %s", version, s.Stage.Why)
	}
	overridden := step(t, planned(t, "v1.31.4+rke2r1", onAWS, transform.Target{EndState: transform.EndStateOverride}), stages.SwitchToExternal)
	assert.Contains(t, overridden.Stage.Why, "The name of the provider stays aws, because it sets the names of the nodes; an argument makes each component external.")
}

func TestAClusterPast126HasStagesOfItsOwn(t *testing.T) {
	const late = stages.InstallCCM + " " + stages.SwitchToExternal
	for version, want := range map[string]string{
		"v1.26.15": "", "v1.27.1": stages.SwitchToExternal + " " + stages.InstallCCM, "v1.28.15": stages.SwitchToExternal + " " + stages.InstallCCM,
		"v1.31.4": late, "v1.33.5": late,
	} {
		t.Run(version, func(t *testing.T) {
			p := planned(t, version+"+rke2r1", onAWS, transform.Target{})
			names := lists.Map(lists.Where(p.Steps, func(s plan.Step) bool { return s.Stage.Edit != nil }), func(s plan.Step) string { return s.Stage.Name })
			got := strings.Join(names, " ")
			assert.Truef(t, (want == "" || got == want) && (want != "" || strings.HasPrefix(got, stages.GrantMigrationLease)), "the stages are %s", got)
			last := p.Steps[len(p.Steps)-1].After()
			assert.Truef(t, strings.Contains(string(last[0].Bytes()), "chart: aws-cloud-controller-manager"), "there is no chart at the end:\n%s", last[0].Bytes())
			assert.Truef(t, version == "v1.26.15" || !strings.Contains(string(last[0].Bytes()), leaderFlag), "there is no manager to migrate from:\n%s", last[0].Bytes())
			c := assert.Value(lint(last, transform.Target{}))(t)
			list := about(c.Findings(""), "in-tree-gone")
			assert.True(t, len(list) == 0, list)
		})
	}
	t.Run("external is there", func(t *testing.T) {
		c, err := open(transform.Only(parse(t, document("v1.28.15+rke2r1", globalOff))), chosen)
		assert.True(t, err == nil && len(about(c.Findings(""), "in-tree-gone")) == 0, err)
	})
}

// From 1.36 on the name does not stop the stub, which must not initialize nodes next to the
// cloud-controller-manager.
func TestTheChartWaitsForTheStub(t *testing.T) {
	for config, want := range map[string]plan.State{onAWS: plan.Blocked, onAWS + "  disable-cloud-controller: true\n": plan.Todo} {
		s := step(t, planned(t, "v1.36.0+rke2r1", config, transform.Target{}), stages.InstallCCM)
		assert.Truef(t, s.State == want && (len(about(s.Findings, "stub-ccm-enabled")) > 0) == (want == plan.Blocked), "%s: %s, %v", config, s.State, found(s.Findings))
	}
	s := step(t, planned(t, "v1.35.0+rke2r1", onAWS, transform.Target{}), stages.InstallCCM)
	assert.Truef(t, s.State == plan.Todo, "up to 1.35 the name stops the stub: %v", found(s.Findings))
}

// A plan does not depend on where in the stages a cluster is: what is left is the same.
func TestAPlanPast126ContinuesFromEveryStage(t *testing.T) {
	for _, end := range []string{"", transform.EndStateExternal, transform.EndStateOverride} {
		target := transform.Target{EndState: end}
		p := planned(t, "v1.31.4+rke2r1", onAWS, target)
		for i, s := range p.Steps {
			again, err := plan.Build(Format(), s.After(), target)
			assert.Must(t, err == nil, end, s.Stage.Name, err)
			assert.Mustf(t, len(again.Steps) == len(p.Steps), "%q: after %s there are %d stages, not %d", end, s.Stage.Name, len(again.Steps), len(p.Steps))
			for j, a := range again.Steps {
				assert.Truef(t, a.Stage.Name == p.Steps[j].Stage.Name && a.Left() == (j > i && p.Steps[j].Left()), "%q: after %s the stage %s is %s", end, s.Stage.Name, a.Stage.Name, a.State)
			}
		}
	}
}

// twoConfigs has control planes that differ in the provider's configuration, so
// that one cloud-controller-manager cannot take it over.
const twoConfigs = twoZones + onAWS + "  cloud-provider-config: a\nmachineSelectorConfig:\n- config: {cloud-provider-config: b}\n  " + forZoneA + "\n"

func TestAcceptAcceptsWhatMayBe(t *testing.T) {
	const erased = "  kube-controller-manager-arg: [v=2]\nmachineSelectorConfig:\n- config: {kube-controller-manager-arg: [a=b]}\n"
	for _, c := range []struct {
		name, version, config string
		accept                []string
		stage                 string
		want                  plan.State
	}{
		{"nothing", release, onAWS, nil, stages.SwitchToExternal, plan.Blocked},
		{"node-rename", release, onAWS, []string{"node-rename"}, stages.SwitchToExternal, plan.Todo},
		{"another rule", release, onAWS, []string{"cloud-config-lost"}, stages.SwitchToExternal, plan.Blocked},
		{"one of two", release, twoConfigs, []string{"node-rename"}, stages.SwitchToExternal, plan.Blocked},
		{"both", release, twoConfigs, []string{"node-rename", "cloud-config-lost"}, stages.SwitchToExternal, plan.Todo},
		{"overwritten arguments block", release, onAWS + erased, nil, stages.EnableLeaderMigration, plan.Blocked},
		{"args-overwritten", release, onAWS + erased, []string{"args-overwritten"}, stages.EnableLeaderMigration, plan.Todo},
		{"warnings do not block", release, onAWS + "  kubelet-arg: [v=2]\nmachineSelectorConfig:\n- config: {kubelet-arg: [a=b]}\n", nil, stages.EnableLeaderMigration, plan.Todo},
		{"other stages are not blocked", release, onAWS + erased, nil, stages.GrantMigrationLease, plan.Todo},
	} {
		s := step(t, planned(t, c.version, c.config, transform.Target{Accept: c.accept}), c.stage)
		assert.Truef(t, s.State == c.want, "%s: %s is %s: %+v", c.name, c.stage, s.State, s.Findings)
		for _, f := range s.Findings {
			assert.True(t, (!f.Accepted || slices.Contains(c.accept, f.Rule)) && (!f.Stops() || s.State == plan.Blocked), f, c.name)
		}
	}
}

// An empty list that is left where the flag was keeps on hiding the global one.
func TestThePublishedEntryOverAGlobalListBlocks(t *testing.T) {
	config := onAWS + "  cni: calico\n  kube-controller-manager-arg: [v=2]\nmachineSelectorConfig:\n- config: {kube-controller-manager-arg: [enable-leader-migration]}\n  " + forControlPlanes + "\n"
	p := planned(t, release, config, chosen)
	for name, want := range map[string]string{stages.EnableLeaderMigration: "args-overwritten", stages.SwitchToExternal: "value-erased"} {
		s := step(t, p, name)
		assert.Truef(t, len(about(s.Findings, want)) == 1 && s.State == plan.Blocked, "%s is %s: %v", name, s.State, found(s.Findings))
	}
}
