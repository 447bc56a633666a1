// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
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
