// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// chartAs returns a chart that runs next to an in-tree manager without the flag,
// under a name of its own; its spec begins with some lines.
func chartAs(lines string) string {
	return onAWS + "additionalManifest: |\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata: {name: aws-ccm, namespace: kube-system}\n  spec:\n    " +
		strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n    ") +
		"\n    valuesContent: |\n      image: {tag: v1.26.6}\n      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n      nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}\n      tolerations: [{operator: Exists}]\n"
}

// forms are all in which a HelmChart can name the cloud-controller-manager.
var forms = map[string]string{
	"a name":                       "chart: aws-cloud-controller-manager\nrepo: https://charts.example.com",
	"a repository and a name":      "chart: mirror/aws-cloud-controller-manager",
	"a registry":                   "chart: oci://registry.example.com/aws/aws-cloud-controller-manager",
	"a registry with a tag":        "chart: oci://registry.example.com/aws/aws-cloud-controller-manager:0.0.8",
	"an archive":                   "chart: https://charts.example.com/aws-cloud-controller-manager-0.0.8.tgz",
	"an archive without a version": "chart: https://charts.example.com/aws-cloud-controller-manager.tgz",
	"an archive on control planes": "chart: https://%{KUBERNETES_API}%/static/charts/aws-cloud-controller-manager-0.0.8.tgz",
	"content that is damaged":      "chartContent: H4sIAAAA",
	"a chart of another name":      "chart: https://charts.example.com/platform-ccm-4.1.0.tgz",
}

func TestASecondOwnerIsFoundInEveryFormOfTheChart(t *testing.T) {
	for name, spec := range forms {
		c := linted(t, release, chartAs(spec), chosen)
		got := about(c.Findings(""), "ccm-flag-missing")
		assert.Truef(t, len(got) == 1, "%s: %v", name, found(c.Findings("")))
	}
	other := "chart: https://charts.example.com/aws-ebs-csi-driver-2.20.0.tgz"
	noArgs := strings.Replace(chartAs(other), "      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n", "", 1)
	got := about(linted(t, release, noArgs, chosen).Findings(""), "ccm-flag-missing")
	assert.True(t, len(got) == 0, "another chart of AWS is taken for it", found(got))
}

func TestNoFormOfTheChartGetsASecondOne(t *testing.T) {
	for name, spec := range forms {
		s := step(t, planned(t, release, chartAs(spec), chosen), stages.InstallCCM)
		text := string(s.After()[0].Bytes())
		assert.Truef(t, strings.Count(text, "kind: HelmChart\n") == 1 && strings.Count(text, "--enable-leader-migration=true") == 1 && (s.State == plan.Todo || strings.Contains(name, "without a version")), "%s: %s\n%s", name, s.State, text)
		packed := strings.Contains(spec, ".tgz") || strings.Contains(spec, "chartContent")
		assert.Truef(t, packed != strings.Contains(text, "version: 0.0.8\n") || strings.Contains(spec, ":0.0.8"), "%s: an archive has no use for spec.version, all else needs it:\n%s", name, text)
	}
}

func TestVersionsOfCharts(t *testing.T) {
	checkRule(t, "chart-unpinned", []ruleCase{
		{"in a registry's tag", "", chartAs(forms["a registry with a tag"]), chosen, nil},
		{"in an archive's name", "", chartAs(forms["an archive"]), chosen, nil},
		{"not in an archive's name", "", chartAs(forms["an archive without a version"] + "\nversion: 0.0.8"), chosen, []string{"error 14"}},
		{"of a registry", "", chartAs(forms["a registry"]), chosen, []string{"error 13"}},
	})
}

func TestChartsThatAreNotChecked(t *testing.T) {
	external := func(spec string) string {
		return strings.Replace(chartAs(spec), "cloud-provider-name: aws", "cloud-provider-name: external", 1)
	}
	const secret = "chart: aws-cloud-controller-manager\nversion: 0.0.8\nvaluesSecrets: [{name: s, keys: [k]}]"
	checkRule(t, "chart-not-checked", []ruleCase{
		{"the published one", "", chartAs(forms["an archive"]), chosen, nil},
		{"content that is damaged", "", chartAs(forms["content that is damaged"]), chosen, []string{"note 14"}},
		{"a chart of another name", "", chartAs(forms["a chart of another name"]), chosen, []string{"note 14"}},
		{"values in a Secret", "v1.32.4+rke2r1", external(secret), chosen, []string{"note 16"}},
		{"a Secret that the release does not know", "v1.32.3+rke2r1", external(secret), chosen, nil},
	})
	checkRule(t, "chart-field-ignored", []ruleCase{
		{"known", "v1.32.4+rke2r1", external(secret), chosen, nil},
		{"not known", "v1.32.3+rke2r1", external(secret), chosen, []string{"warning 16"}},
		{"values before 1.33.11", "v1.33.10+rke2r1", external("chart: aws-cloud-controller-manager\nvalues: {a: b}"), chosen, []string{"warning 15"}},
		{"values from 1.33.11 on", "v1.33.11+rke2r1", external("chart: aws-cloud-controller-manager\nvalues: {a: b}"), chosen, nil},
	})
}

func TestFieldsOfReleases(t *testing.T) {
	for version, want := range map[string][2]bool{
		"v1.26.15+rke2r1": {false, false}, "v1.30.11+rke2r1": {false, false}, "v1.30.12+rke2r1": {false, true}, "v1.31.7+rke2r1": {false, false}, "v1.31.8+rke2r1": {false, true},
		"v1.33.0+rke2r1": {false, true}, "v1.33.11+rke2r1": {true, true}, "v1.34.6+rke2r1": {false, true}, "v1.35.4+rke2r1": {true, true}, "v1.36.0+rke2r1": {true, true},
	} {
		f := chartFields(version)
		assert.Truef(t, f.Values == want[0] && f.ValuesSecrets == want[1], "%s: %+v", version, f)
	}
}

func config(name, content string) string {
	return "  ---\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChartConfig\n  metadata: {name: " + name + ", namespace: kube-system}\n  spec:\n    valuesContent: |\n      " + content + "\n"
}

// After every source of values comes one more that takes the flag away.
func TestRulesCheckTheMerge(t *testing.T) {
	whole := onAWS + withChart(good...)
	const noFlag = "args: [--cloud-provider=aws, --configure-cloud-routes=false]"
	checkRule(t, "ccm-flag-missing", []ruleCase{
		{"a HelmChartConfig", "", whole + config("aws-cloud-controller-manager", noFlag), chosen, []string{"error 29"}},
		{"of another name", "", whole + config("other", noFlag), chosen, nil},
		{"chartValues", "", whole + "chartValues:\n  aws-cloud-controller-manager:\n    " + noFlag + "\n", chosen, []string{"error 25"}},
		{"chartValues of another name", "", whole + "chartValues:\n  other:\n    " + noFlag + "\n", chosen, nil},
		{"an entry of spec.set", "", strings.Replace(whole, "    valuesContent", "    set: {'args[2]': --enable-leader-migration=false}\n    valuesContent", 1), chosen, []string{"error 18"}},
		{"an entry of spec.set next to it", "", strings.Replace(whole, "    valuesContent", "    set: {'args[3]': --v=4}\n    valuesContent", 1), chosen, nil},
	})
	checkRule(t, "ccm-minor-skew", []ruleCase{
		{"chartValues", "", whole + "chartValues:\n  aws-cloud-controller-manager:\n    image: {tag: v1.25.3}\n", chosen, []string{"error 25"}},
	})
	checkRule(t, "ccm-unschedulable", []ruleCase{
		{"a HelmChartConfig", "", whole + config("aws-cloud-controller-manager", "nodeSelector: {site: nowhere}"), chosen, []string{"error 29"}},
	})
	checkRule(t, "helm-reinstall", []ruleCase{
		{"the policy of a HelmChartConfig", "", whole + strings.Replace(config("aws-cloud-controller-manager", "a: b"), "valuesContent", "failurePolicy: reinstall\n    valuesContent", 1), chosen, []string{"warning 28"}},
	})
	checkRule(t, "manifest-overwritten", []ruleCase{
		{"two charts", "", whole + "  ---\n" + strings.TrimPrefix(strings.Replace(withChart(good...), "name: aws-cloud-controller-manager", "name: second", 1), "additionalManifest: |\n"), chosen, []string{"error 27"}},
		{"a HelmChartConfig with chartValues", "", whole + config("aws-cloud-controller-manager", "a: b") + "chartValues: {aws-cloud-controller-manager: {}}\n", chosen, []string{"error 24"}},
	})
}

// The stages write where the value is decided, and take it back from there.
func TestStagesEditTheSourceThatDecides(t *testing.T) {
	const over = "args: [--cloud-provider=aws, --configure-cloud-routes=false]"
	for name, before := range map[string]string{
		"a HelmChartConfig":                  withChart(good...) + config("aws-cloud-controller-manager", over),
		"chartValues":                        withChart(good...) + "chartValues:\n  aws-cloud-controller-manager:\n    " + over + "\n",
		"chartValues of a chart that is new": "chartValues:\n  aws-cloud-controller-manager:\n    " + over + "\n",
	} {
		all := planned(t, release, onAWS+before, chosen)
		s := step(t, all, stages.InstallCCM)
		assert.Contains(t, string(s.After()[0].Bytes()), over[:len(over)-1]+", --enable-leader-migration=true]", name, s.State)
		end := step(t, all, stages.DisableLeaderMigration)
		text := string(end.Documents[0].After.Bytes())
		assert.Truef(t, strings.Contains(text, over) && !strings.Contains(text, "--enable-leader-migration") && len(about(end.Findings, "ccm-args-unsafe")) == 0, "%s, at the end:\n%s", name, text)
	}
}

func TestSourcesThatAreNotEdited(t *testing.T) {
	set := strings.Replace(but(1, "args: [--cloud-provider=aws]"), "    valuesContent", "    set: {'args[1]': --v=2}\n    valuesContent", 1)
	hidden := strings.NewReplacer("      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n", "      image: {repository: r.example.com/aws-cloud-controller-manager}\n", "      image: {tag: v1.26.6}\n", "")
	for config, want := range map[string]string{
		set: "c.yaml:18: spec.set.args[1]: spec.set sets args",
		onAWS + withChart(good...) + config("aws-cloud-controller-manager", "nodeSelector: {site: nowhere}"): "c.yaml:29: nodeSelector.site: nodeSelector asks for site",
		hidden.Replace(chartAs("chartContent: H4sIAAAA")):                                                    "the arguments of the chart depend on values.yaml of the chart",
	} {
		assert.Error(plan.BuildFor(Format(), transform.Only(parse(t, document(release, config))), chosen, plan.Choice{Stage: stages.InstallCCM}))(t, want, config)
	}
}

func TestTheUndoOfValuesNotInFileIsUndetermined(t *testing.T) {
	const values = "chartValues:\n  aws-cloud-controller-manager:\n    args: [--cloud-provider=aws, --configure-cloud-routes=false]\n"
	installed := step(t, planned(t, release, onAWS+values, chosen), stages.InstallCCM).After()
	_, err := plan.Undo(Format(), installed, chosen, stages.InstallCCM, false)
	assert.ErrorContains(t, err, "chartValues.aws-cloud-controller-manager")
	canonical := chosen
	canonical.CanonicalForm = true
	steps, err := plan.Undo(Format(), installed, canonical, stages.InstallCCM, false)
	assert.True(t, err == nil && len(steps) == 1 && !strings.Contains(string(steps[0].After()[0].Bytes()), "kind: HelmChart\n"), steps, err)
}

// In a broken cluster the switch comes before the chart, and install-ccm puts the chart right.
func TestTheSwitchOfABrokenClusterDoesNotWaitForTheChart(t *testing.T) {
	p := assert.Value(plan.Build(Format(), transform.Only(parse(t, document("v1.27.16+rke2r1", onAWS+withChart("args: [--cloud-provider=aws]")))), inTurn))(t)
	for _, name := range []string{stages.SwitchToExternal, stages.InstallCCM} {
		s := step(t, p, name)
		assert.Truef(t, s.State == plan.Todo, "%s is %s: %v", name, s.State, s.Findings)
	}
}

// ownManager is a cloud-controller-manager that runs without the chart.
const ownManager = "additionalManifest: |\n  kind: ConfigMap # stays\n  ---\n  apiVersion: apps/v1\n  kind: DaemonSet\n  metadata:\n    name: aws-cloud-controller-manager\n    namespace: kube-system\n" +
	"  spec:\n    template:\n      spec:\n        containers:\n          - name: ccm\n            image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6\n            args:\n              - --v=2\n              - --cloud-provider=aws # ours\n"

func TestAManagerWithoutTheChartGetsTheFlagAndNoChartNextToIt(t *testing.T) {
	p := planned(t, release, onAWS+ownManager, inTurn)
	install := string(step(t, p, stages.InstallCCM).Documents[0].After.Bytes())
	assert.Truef(t, !strings.Contains(install, "HelmChart") && strings.Contains(install, "- --cloud-provider=aws # ours\n                  - --enable-leader-migration\n"), "installed:\n%s", install)
	end := string(step(t, p, stages.DisableLeaderMigration).Documents[0].After.Bytes())
	assert.Truef(t, !strings.Contains(end, "enable-leader-migration") && strings.Contains(end, "cloud-provider=aws # ours\n"), "at the end:\n%s", end)
}

func TestAManagerThatHasTheFlagKeepsItForAsLongAsItIsNeeded(t *testing.T) {
	p := planned(t, release, onAWS+ownManager+"              - --enable-leader-migration=true\n", inTurn)
	assert.True(t, !step(t, p, stages.InstallCCM).Changes(), "it was changed")
	assert.True(t, step(t, p, stages.DisableLeaderMigration).Changes(), "the flag stays")
	kept := inTurn
	kept.KeepLeaderMigration = true
	assert.True(t, !step(t, planned(t, release, onAWS+ownManager, kept), stages.DisableLeaderMigration).Changes(), "the flag was to stay")
}

func TestAManagerWithoutTheChartIsNotGivenAConfiguration(t *testing.T) {
	generated := inTurn
	generated.LeaderMigrationConfig = transform.ConfigGenerate
	_, err := plan.Build(Format(), transform.Only(parse(t, document(release, onAWS+ownManager))), generated)
	assert.ErrorContains(t, err, "rke-lm does not add its configuration; remove --leader-migration-config")
}

func TestTheFlagOfAManagerWithoutTheChartIsUndoneInTheUsualForm(t *testing.T) {
	p := planned(t, release, onAWS+ownManager, inTurn)
	for _, stage := range []string{stages.DisableLeaderMigration, stages.InstallCCM} {
		s := step(t, p, stage)
		assert.Error(plan.Undo(Format(), s.After(), inTurn, stage, false))(t, "--canonical", stage)
		steps, err := plan.Undo(Format(), s.After(), usual, stage, false)
		assert.Mustf(t, err == nil && len(steps) == 1, "%s: %v", stage, err)
		assert.Truef(t, yamledit.Same(steps[0].After()[0].Root().Value(), s.Before()[0].Root().Value()), "%s: back to\n%s", stage, steps[0].After()[0].Bytes())
	}
}

const (
	aManager   = "additionalManifest: |\n  kind: DaemonSet\n  metadata: {name: x}\n  spec: {template: {spec: {containers: [{image: r.example.com/aws-cloud-controller-manager:v1.26.1}]}}}\n"
	overridden = "machineGlobalConfig:\n  cloud-provider-name: aws\n  disable-cloud-controller: true\n  kubelet-arg: [cloud-provider=external]\n  kube-apiserver-arg: [cloud-provider=external]\n  kube-controller-manager-arg: [cloud-provider=external]\n"
)

func TestAnExternalClusterMayHaveItsManagerFromElsewhere(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         plan.State
		open         bool
	}{
		{"nothing in the file", globalOff, plan.NotInFile, true},
		{"the provider is external only in the arguments of components, so it was changed in another way", overridden, plan.NotInFile, true},
		{"other manifests", "additionalManifest: |\n  kind: ConfigMap\n  metadata: {name: x}\n" + globalOff, plan.NotInFile, true},
		{"a workload", aManager + globalOff, plan.Done, false},
		{"in-tree", onAWS, plan.Todo, true},
		{"one pool in-tree", twoZones + onAWS + "machineSelectorConfig:\n- config: {cloud-provider-name: external, disable-cloud-controller: true}\n  " + forZoneA + "\n", plan.Todo, true},
	} {
		p := planned(t, release, c.config, transform.Target{})
		s := step(t, p, stages.InstallCCM)
		assert.Truef(t, s.State == c.want && isLeft(p) == c.open, "%s: %s, %+v", c.name, s.State, p.Summary())
		last := step(t, p, stages.DisableLeaderMigration)
		assert.Truef(t, (last.State == plan.NotInFile) == (c.want == plan.NotInFile), "%s: the end is %s", c.name, last.State)
		known := transform.Target{Accept: []string{rules.CCMNotInFile.ID}}
		assert.True(t, c.want != plan.NotInFile || !isLeft(planned(t, release, c.config, known)), "what is known stays open", c.name)
	}
}

func isLeft(p *plan.Plan) bool { return p.Summary().Counts.Count() != plan.CountDone }

func TestOnlyTheStageItselfAddsAManagerToAnExternalCluster(t *testing.T) {
	doc := parse(t, document(release, globalOff))
	for _, c := range []plan.Choice{{Next: true}, {Stage: stages.InstallCCM, Through: true}, {Stage: stages.DisableLeaderMigration, Through: true}, {Stage: stages.DisableLeaderMigration}} {
		p := assert.Value(plan.BuildFor(Format(), transform.Only(doc), chosen, c))(t)
		steps, err := p.Choose(c)
		first := (*plan.ManualStagePending)(nil)
		assert.Truef(t, errors.As(err, &first) == c.Next && (c.Next || err == nil) && len(steps) == 0, "%+v: %v, %v", c, steps, err)
	}
	c := plan.Choice{Stage: stages.InstallCCM}
	p := assert.Value(plan.BuildFor(Format(), transform.Only(doc), chosen, c))(t)
	steps, err := p.Choose(c)
	assert.Must(t, err == nil && len(steps) == 1, steps, err)
	text := string(steps[0].After()[0].Bytes())
	assert.Truef(t, strings.Contains(text, "chart: aws-cloud-controller-manager") && !strings.Contains(text, leaderFlag), "no one is left to migrate from:\n%s", text)
	again := assert.Value(plan.Build(Format(), steps[0].After(), chosen))(t)
	assert.Truef(t, !isLeft(again), "something is left: %+v", again.Steps)
}

// The image of a finished migration moves with the cluster; the flag does not come
// back for that.
func TestNoStagePutsTheFlagOnAChartThatHasLeftTheMigration(t *testing.T) {
	p := planned(t, "v1.27.16+rke2r2", globalOff+"additionalManifest: |\n  apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n  spec:\n    chart: aws-cloud-controller-manager\n    version: 0.0.8\n    valuesContent: |-\n      image: {tag: v1.26.6}\n      args: [--cloud-provider=aws, --configure-cloud-routes=false]\n", chosen)
	for _, s := range p.Steps {
		assert.Mustf(t, !strings.Contains(string(s.After()[0].Bytes()), leaderFlag), "%s puts the flag there", s.Stage.Name)
	}
	assert.True(t, step(t, p, stages.InstallCCM).State == plan.Done && step(t, p, stages.DisableLeaderMigration).State == plan.Todo, p.Steps)
}
