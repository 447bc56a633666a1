// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// withChart returns a manifest with a chart that has these values. After onAWS
// it starts in line 9, and its values in line 19.
func withChart(values ...string) string {
	const head = `additionalManifest: |
  apiVersion: helm.cattle.io/v1
  kind: HelmChart
  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
  spec:
    bootstrap: true
    chart: aws-cloud-controller-manager
    failurePolicy: abort
    version: 0.0.8
    valuesContent: |
`
	return head + "      " + strings.Join(values, "\n      ") + "\n"
}

// What a chart needs that joins a migration at 1.26.
var good = []string{
	"image: {tag: v1.26.6}",
	"args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true]",
	"nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}",
	"tolerations: [{operator: Exists}]",
}

// but returns the good values with one of them replaced; "" leaves it out.
func but(i int, value string) string {
	values := append([]string{}, good...)
	values[i] = value
	return onAWS + withChart(values...)
}

var withoutMigration = transform.Target{EndState: transform.EndStateExternal, NoLeaderMigration: true}

func TestAGoodChartHasNoFindings(t *testing.T) {
	for _, f := range linted(t, release, snapshots+onAWS+withChart(good...), chosen).Findings("") {
		t.Errorf("%+v", f)
	}
}

func TestChartsThatAreNotPinned(t *testing.T) {
	whole := onAWS + withChart(good...)
	checkRule(t, "chart-unpinned", []ruleCase{
		{"pinned", "", whole, chosen, nil},
		{"no version", "", strings.Replace(whole, "    version: 0.0.8\n", "", 1), chosen, []string{"error 13"}},
		{"a range of versions", "", strings.Replace(whole, "0.0.8", "'>=0.0.8'", 1), chosen, []string{"error 17"}},
		{"a v in front", "", strings.Replace(whole, "0.0.8", "v0.0.8", 1), chosen, nil},
		{"no tag", "", but(0, "image: {repository: r.example.com/ccm}"), chosen, []string{"error 18"}},
		{"a tag that moves", "", but(0, "image: {tag: latest}"), chosen, []string{"error 19"}},
		{"no values", "", onAWS + "additionalManifest: |\n  kind: HelmChart\n  spec: {chart: aws-cloud-controller-manager, version: 0.0.8}\n", chosen, []string{"error 11"}},
		{"another chart", "", onAWS + "additionalManifest: |\n  kind: HelmChart\n  spec: {chart: traefik}\n", chosen, nil},
	})
}

func TestImagesOfAnotherMinor(t *testing.T) {
	checkRule(t, "ccm-minor-skew", []ruleCase{
		{"the cluster's", "", onAWS + withChart(good...), chosen, nil},
		{"another", "", but(0, "image: {tag: v1.25.3}"), chosen, []string{"error 19"}},
		{"other names for its controllers", "", but(0, "image: {tag: v1.28.1}"), chosen, []string{"error 19"}},
		{"other names, with a configuration", "", onAWS + withChart("image: {tag: v1.28.1}", "args: [--cloud-provider=aws, --enable-leader-migration, --leader-migration-config=/c]"), chosen, nil},
		{"not known", "", but(0, "image: {tag: latest}"), chosen, nil},
		{"one minor older, between the switch and the end", "v1.27.16+rke2r1", globalOff + withChart(good...), chosen, nil},
		{"one minor older, at the end", "v1.27.16+rke2r1", globalOff + withChart("image: {tag: v1.26.6}"), chosen, []string{"warning 20"}},
		{"two minors older, at the end", "v1.28.15+rke2r1", globalOff + withChart("image: {tag: v1.26.6}"), chosen, []string{"error 20"}},
		{"other names at the cluster's own minor", "v1.28.15+rke2r1", onAWS + withChart("image: {tag: v1.28.1}", "args: [--cloud-provider=aws, --enable-leader-migration]"), chosen, []string{"error 19"}},
		{"the cluster's own minor at the end", "v1.30.5+rke2r1", globalOff + withChart("image: {tag: v1.30.1}"), chosen, nil},
	})
}

func TestArgumentsThatEndTheManager(t *testing.T) {
	checkRule(t, "ccm-args-unsafe", []ruleCase{
		{"safe", "", onAWS + withChart(good...), chosen, nil},
		{"routes", "", but(1, "args: [--cloud-provider=aws]"), chosen, []string{"error 20"}},
		{"routes with a range", "", but(1, "args: [--cloud-provider=aws, --cluster-cidr=10.42.0.0/16]"), chosen, nil},
		{"routes by default", "", but(1, ""), chosen, []string{"error 18"}},
		{"no provider", "", but(1, "args: [--configure-cloud-routes=false]"), chosen, []string{"error 20"}},
		{"no rights", "", but(1, "args: [--cloud-provider=aws, --configure-cloud-routes=false, --use-service-account-credentials=true]"), chosen, []string{"error 20"}},
		{"rights", "", but(1, "args: [--cloud-provider=aws, --configure-cloud-routes=false, --use-service-account-credentials]\n      clusterRoleRules: [{resources: [serviceaccounts], verbs: [get]}]"), chosen, nil},
		{"all of them", "", but(1, "args: [--use-service-account-credentials]"), chosen, []string{"error 20", "error 20", "error 20"}},
	})
}

const workload = "additionalManifest: |\n  apiVersion: v1\n  kind: ConfigMap\n  ---\n  kind: DaemonSet\n  spec:\n    template:\n      spec:\n        containers:\n        - image: registry.example.com/provider-aws/cloud-controller-manager:v1.26.6\n"

func TestArgumentsThatEndAManagerWithoutTheChart(t *testing.T) {
	with := func(list string) string { return onAWS + workload + "          args: [" + list + "]\n" }
	checkRule(t, "ccm-args-unsafe", []ruleCase{
		{"safe", "", with("--cloud-provider=aws, --configure-cloud-routes=false"), chosen, nil},
		{"routes", "", with("--cloud-provider=aws"), chosen, []string{"error 18"}},
	})
}

func TestPodsThatNoControlPlaneTakes(t *testing.T) {
	pools := func(config string) string { return split + config }
	checkRule(t, "ccm-unschedulable", []ruleCase{
		{"taken", "", onAWS + withChart(good...), chosen, nil},
		{"the chart's selector", "", but(2, ""), chosen, []string{"error 18"}},
		{"another selector", "", onAWS + withChart(good[0], good[1], "nodeSelector: {node-role.kubernetes.io/control-plane: ''}"), chosen, []string{"error 21"}},
		{"a toleration with a value", "", pools(but(3, "tolerations: [{key: node-role.kubernetes.io/control-plane, value: 'true', effect: NoSchedule}]")), chosen, []string{"error 26"}},
		{"no toleration for nodes that are not initialised", "", pools(but(3, "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]")), chosen, []string{"error 26"}},
		{"what control planes without etcd need", "", pools(but(3, "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}, {key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists}]")), chosen, nil},
		{"the published tolerations next to etcd", "", but(3, "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]"), chosen, []string{"error 22"}},
	})
}

func TestASecondOwner(t *testing.T) {
	checkRule(t, "ccm-flag-missing", []ruleCase{
		{"it waits", "", onAWS + withChart(good...), chosen, nil},
		{"it does not", "", but(1, "args: [--cloud-provider=aws]"), chosen, []string{"error 20"}},
		{"by default", "", but(1, ""), chosen, []string{"error 18"}},
		{"after the switch", "", globalOff + withChart("args: [--cloud-provider=aws]"), chosen, nil},
		{"as it was chosen", "", but(1, "args: [--cloud-provider=aws]"), withoutMigration, []string{"warning 20"}},
		{"without the chart", "", onAWS + workload + "          args: [--cloud-provider=aws]\n", chosen, []string{"error 18"}},
		{"without the chart, waiting", "", onAWS + workload + "          args: [--cloud-provider=aws, --enable-leader-migration=true]\n", chosen, nil},
		{"of another provider", "", onAWS + workload + "          args: [--cloud-provider=openstack]\n", chosen, nil},
	})
}

func TestAddressesThatFlap(t *testing.T) {
	checkRule(t, "address-flapping", []ruleCase{
		{"without a chart", "v1.24.17+rke2r1", onAWS, chosen, nil},
		{"in-tree kubelets", "v1.24.17+rke2r1", onAWS + withChart(good...), chosen, []string{"warning 15"}},
		{"external", "v1.24.17+rke2r1", globalOff + withChart(good...), chosen, nil},
		{"external but for the kubelets", "v1.24.17+rke2r1", globalOff + kubelet + "[cloud-provider=aws]\n" + withChart(good...), chosen, []string{"warning 17"}},
		{"repaired", "v1.25.16+rke2r1", onAWS + withChart(good...), chosen, nil},
	})
}

func TestChartsThatAreInstalledAgain(t *testing.T) {
	whole := onAWS + withChart(good...)
	checkRule(t, "helm-reinstall", []ruleCase{
		{"never", "", whole, chosen, nil},
		{"by default", "", strings.Replace(whole, "    failurePolicy: abort\n", "", 1), chosen, []string{"warning 13"}},
		{"on purpose", "", strings.Replace(whole, "abort", "reinstall", 1), chosen, []string{"warning 16"}},
	})
}

func TestFindingsInsideOfTheManifestHaveThePath(t *testing.T) {
	list := about(linted(t, release, but(0, "image: {tag: latest}"), chosen).Findings(""), "chart-unpinned")
	assert.True(t, len(list) == 1 && list[0].Path == "spec.rkeConfig.additionalManifest[0].spec.valuesContent.image.tag", list)
	list = about(linted(t, release, but(0, ""), chosen).Findings(""), "chart-unpinned")
	assert.True(t, len(list) == 1 && list[0].Path == "spec.rkeConfig.additionalManifest[0].spec.valuesContent", list)
}

func TestAChartThatCannotBeReadLeavesTheRest(t *testing.T) {
	config := "machineGlobalConfig:\n  " + isExternal + "additionalManifest: |\n  kind: HelmChart\n  spec:\n    chart: aws-cloud-controller-manager\n    valuesContent: '{'\n"
	c, err := Format().Lint(transform.Only(parse(t, document(release, config))), chosen)
	assert.Truef(t, err != nil && c != nil && len(about(c.Findings(""), "stub-ccm-enabled")) == 1, "%v, %v", c, err)
}
