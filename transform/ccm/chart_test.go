// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// holder returns a document whose string m holds a manifest.
func holder(t *testing.T, manifest string) *yamledit.Document {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(manifest, "\n"), "\n")
	return assert.Value(yamledit.ParseString("in.yaml", "m: |-\n  "+strings.Join(lines, "\n  ")+"\n"))(t)
}

// chartWith returns a chart with the given values.
func chartWith(t *testing.T, values string) Chart {
	t.Helper()
	manifest := "kind: ConfigMap\n---\nkind: HelmChart\nspec:\n  chart: aws-cloud-controller-manager\n"
	if values != "" {
		manifest += "  valuesContent: |\n    " + strings.ReplaceAll(strings.TrimSuffix(values, "\n"), "\n", "\n    ") + "\n"
	}
	in := assert.Value(holder(t, manifest).Root().Get("m").Embedded())(t)
	c, found, err := Find(helmchart.Sources{Docs: in.Documents()})
	assert.Must(t, err == nil && found && c.Index == 1, "the chart was not found", c, err)
	return c
}

var dedicated = NodeClass{
	Name:   "control-plane and etcd",
	Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true", "node-role.kubernetes.io/etcd": "true"},
	Taints: []corev1.Taint{
		{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/etcd", Effect: corev1.TaintEffectNoExecute},
	},
}

func TestValuesAreCheckedAfterHelmsMerge(t *testing.T) {
	const works = "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"true\"\ntolerations:\n  - {key: node-role.kubernetes.io/control-plane, operator: Exists}\n  - {key: node-role.kubernetes.io/etcd, operator: Exists}\n"
	for _, c := range []struct{ name, values, want string }{
		{"the chart's own values ask for an empty label", "", `nodeSelector asks for node-role.kubernetes.io/control-plane: ""`},
		{"a selector is merged with the chart's", "nodeSelector:\n  node-role.kubernetes.io/etcd: \"true\"\n", `nodeSelector asks for node-role.kubernetes.io/control-plane: ""`},
		{"null takes the chart's key away", "nodeSelector:\n  node-role.kubernetes.io/control-plane: null\ntolerations:\n  - operator: Exists\n", ""},
		{"the chart's tolerations do not cover etcd", "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"true\"\n", "no toleration for the taint node-role.kubernetes.io/etcd:NoExecute"},
		{"the published value true does not match an empty one", strings.ReplaceAll(works, "operator: Exists", "value: 'true'"), "no toleration for the taint node-role.kubernetes.io/control-plane:NoSchedule"},
		{"Exists tolerates any value", works, ""},
		{"a list replaces the chart's tolerations", "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"true\"\ntolerations: []\n", "no toleration for the taint node-role.kubernetes.io/control-plane:NoSchedule"},
	} {
		assert.Equal(t, chartWith(t, c.values).Refuses(dedicated), c.want, c.name)
	}
}

func TestArgumentsOfTheChart(t *testing.T) {
	for _, c := range []struct {
		name, values                           string
		migrates, routes, noProvider, noRights bool
	}{
		{"the chart's own", "", false, true, false, false},
		{"all that a migration needs", "args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true]\n", true, false, false, false},
		{"routes with a range of addresses", "args: [--cloud-provider=aws, --cluster-cidr=10.42.0.0/16]\n", false, false, false, false},
		{"a list that forgets the provider", "args: [--configure-cloud-routes=false]\n", false, false, true, false},
		{"credentials without the right to them", "args: [--cloud-provider=aws, --configure-cloud-routes=false, --use-service-account-credentials=true]\n", false, false, false, true},
		{"credentials with the right to them", "args: [--cloud-provider=aws, --configure-cloud-routes=false, --use-service-account-credentials=true]\nclusterRoleRules:\n  - {apiGroups: [\"\"], resources: [serviceaccounts], verbs: [get, create]}\n", false, false, false, false},
		{"a flag that is off", "args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=false]\n", false, false, false, false},
	} {
		chart := chartWith(t, c.values)
		assert.Truef(t, chart.Migrates() == c.migrates && RoutesUnsafe(chart.Args()) == c.routes && chart.LacksProvider() == c.noProvider && chart.LacksRights() == c.noRights, "%s: migrates %v, routes %v, no provider %v, no rights %v", c.name, chart.Migrates(), RoutesUnsafe(chart.Args()), chart.LacksProvider(), chart.LacksRights())
	}
}

var options = Options{Format: "rke2", Minor: "v1.26", LeaderMigration: true}

func TestANewChartNeedsNoCompletion(t *testing.T) {
	for _, o := range []Options{
		options,
		{Format: "rke2", Minor: "v1.22"},
		{Format: "rke2", Minor: "v1.31"},
		{Format: "rke2", Minor: "v1.26", LeaderMigration: true, CloudConfig: true, ImageRepository: "registry.example.com/ccm", ImageTag: "v1.26.1", ChartRepo: "https://charts.example.com", ChartVersion: "0.0.9"},
	} {
		text, ok := Manifest(o, nil)
		assert.Must(t, ok, "no values for", o.Minor)
		assert.Equal(t, completed(t, text, o), "", o)
	}
	_, ok := Manifest(Options{Format: "rke2", Minor: "v1.40"}, nil)
	assert.True(t, !ok, "values for a minor that was not tested")
}

// edited returns a manifest after an edit of its chart, or "" when nothing changed; or the error.
func edited(t *testing.T, manifest string, edit func(Chart, Edits)) string {
	t.Helper()
	d := holder(t, manifest)
	e := d.Edit()
	in := assert.Value(e.Embedded(d.Root().Get("m")))(t)
	c, found, err := Find(helmchart.Sources{Docs: in.Documents()})
	assert.Must(t, err == nil && found, "no chart", err)
	edit(c, Edits{File: e, In: in})
	if err := e.Err(); err != nil {
		return err.Error()
	}
	if e.Empty() {
		return ""
	}
	after, _, err := e.Apply()
	assert.NilError(t, err)
	text, _ := after.Root().Get("m").String()
	return text + "\n"
}

func completed(t *testing.T, manifest string, o Options, nodes ...NodeClass) string {
	t.Helper()
	return edited(t, manifest, func(c Chart, e Edits) { c.Complete(e, o, append(nodes, dedicated)) })
}

func TestAChartIsCompletedInPlace(t *testing.T) {
	const before = `apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata:
  name: ccm
spec:
  chart: aws-cloud-controller-manager # ours
  valuesContent: |
    # what we changed
    args:
      - --v=5
      - --cloud-provider=aws
      - --configure-cloud-routes=false
`
	got := completed(t, before, options)
	want := strings.Replace(before, "|\n", "|-\n", 1) + `      - --enable-leader-migration=true
    image:
      tag: v1.26.6
    hostNetworking: true
    nodeSelector:
      node-role.kubernetes.io/control-plane: "true"
    tolerations:
      - key: node.cloudprovider.kubernetes.io/uninitialized
        operator: Exists
        effect: NoSchedule
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
        effect: NoSchedule
      - key: node-role.kubernetes.io/etcd
        operator: Exists
        effect: NoExecute
  version: 0.0.8
  failurePolicy: abort
`
	assert.Equal(t, got, want)
	assert.Equal(t, completed(t, got, options), "", "completed again to")
}

// TestTaintsOfAPoolAreTolerated: the chart's own tolerations miss what a pool adds.
func TestTaintsOfAPoolAreTolerated(t *testing.T) {
	nodes := []NodeClass{{Name: "reserved", Labels: dedicated.Labels, Taints: append(slices.Clone(dedicated.Taints),
		corev1.Taint{Key: "example.com/reserved", Value: "control", Effect: corev1.TaintEffectNoExecute},
		corev1.Taint{Key: "example.com/preferred", Effect: corev1.TaintEffectPreferNoSchedule})}}
	const want = `
      - key: example.com/reserved
        operator: Exists
        effect: NoExecute
`
	text, _ := Manifest(options, nodes)
	assert.Truef(t, strings.Contains(text, want) && !strings.Contains(text, "example.com/preferred"), "a new chart:\n%s", text)
	assert.Equal(t, completed(t, text, options, nodes...), "", "completed to")
	plain, _ := Manifest(options, nil)
	got := completed(t, plain, options, nodes...)
	added := strings.TrimPrefix(got, plain)
	assert.Truef(t, strings.Contains(got, want) && strings.Count(got, "- key:") == 4, "a chart that is there:\n%s", added)
}

func TestAChartWithoutValuesGetsThem(t *testing.T) {
	for _, tail := range []string{"", "  valuesContent: \"\"\n", "  valuesContent:\n"} {
		got := completed(t, "kind: HelmChart\nspec:\n  chart: https://charts.example.com/aws-cloud-controller-manager\n  version: 0.0.8\n"+tail, options)
		assert.Truef(t, (strings.Contains(got, "    tag: v1.26.6\n") || strings.Contains(got, "      tag: v1.26.6\n")) && strings.Contains(got, "--enable-leader-migration=true"), "%q: got\n%s", tail, got)
		again := completed(t, got, options)
		assert.Truef(t, again == "", "%q: completed again to\n%s", tail, again)
	}
}

func TestTheMigrationOfAChartEnds(t *testing.T) {
	text, _ := Manifest(options, nil)
	got := edited(t, text, func(c Chart, e Edits) { c.StopMigrating(e, "v1.27.2", false) })
	assert.Truef(t, !strings.Contains(got, LeaderFlag) && strings.Contains(got, "tag: v1.27.2"), "got\n%s", got)
}

func TestTheCloudConfigIsKeptByteForByte(t *testing.T) {
	const config = "[Global]\nZone = eu-west-1a\n\n[ServiceOverride \"1\"]\nService = ec2\n"
	text := assert.Value(CloudConfigManifest(config))(t)
	d := assert.Value(yamledit.ParseString("secret.yaml", text))(t)
	got, _ := d.Root().Get("stringData", CloudConfigKey).String()
	assert.Truef(t, got == config, "got %q", got)
}

// But for the tag, the values of a later minor are those of the last one.
func TestAMinorWithoutAKnownImageNeedsATag(t *testing.T) {
	o := Options{Format: "rke2", Minor: "v1.37"}
	if _, ok := Manifest(o, nil); ok {
		t.Error("a chart without a tag")
	}
	o.ImageTag = "v1.37.0"
	got, ok := Manifest(o, nil)
	last := Options{Format: "rke2", Minor: "v1.36"}
	want, _ := Manifest(last, nil)
	assert.Truef(t, ok && got == strings.Replace(want, last.Tag(), "v1.37.0", 1), "%t\n%s", ok, got)
}

func TestAChartThatIsThereNeedsNoKnownImage(t *testing.T) {
	const own = "kind: HelmChart\nspec:\n  chart: aws-cloud-controller-manager\n  version: 0.0.11\n  valuesContent: |-\n"
	for values, want := range map[string]string{
		"    image: {tag: v1.37.0}\n": "",
		"    hostNetworking: true\n":  "no cloud-controller-manager image is known for Kubernetes 1.37, but for 1.22 to 1.36",
	} {
		got := completed(t, own+values, Options{Format: "rke2", Minor: "v1.37"})
		assert.Truef(t, strings.Contains(got, want) && (want != "" || strings.Contains(got, "--cloud-provider=aws")), "%s: %s", values, got)
	}
}

func TestTheImageOfAReleaseIsThatOfAnyFormat(t *testing.T) {
	for release, want := range map[string]string{"v1.26.15": "v1.26.6", "v1.36.0": "v1.36.1", "v1.37.0": ""} {
		assert.Equal(t, TestedTag(release), want, release)
	}
}

func TestTheManagerOfAnotherCloudIsKnownByItsNames(t *testing.T) {
	for text, want := range map[string]string{
		"kind: HelmChart\nmetadata: {name: ccm}\nspec: {chart: hcloud-cloud-controller-manager}\n":                                                          "ccm",
		"kind: HelmChart\nmetadata: {name: vsphere-cpi}\nspec: {chart: rancher-vsphere-cpi}\n":                                                              "vsphere-cpi",
		"kind: HelmChart\nmetadata: {name: aws}\nspec: {chart: aws-cloud-controller-manager}\n":                                                             "",
		"kind: HelmChart\nmetadata: {name: cpid}\nspec: {chart: occmd}\n":                                                                                   "",
		"kind: DaemonSet\nmetadata: {name: occm}\nspec: {template: {spec: {containers: [{image: r.example.com/openstack-cloud-controller-manager:v1}]}}}\n": "occm",
		"kind: DaemonSet\nmetadata: {name: m}\nspec: {template: {spec: {containers: [{image: r.example.com/aws/cloud-controller-manager:v1}]}}}\n":          "",
		"kind: ConfigMap\nmetadata: {name: cloud-provider-config}\n":                                                                                        "",
		"# nothing\n": "",
	} {
		docs := assert.Value(yamledit.ParseStream(text))(t)
		assert.Equal(t, OtherManager(docs), want, text)
	}
}

// complete is a chart that lacks nothing, with the given lines among its arguments.
func complete(lines ...string) string {
	return "kind: HelmChart\nspec:\n  chart: aws-cloud-controller-manager\n  failurePolicy: abort\n  version: 0.0.8\n  valuesContent: |-\n" +
		"    image: {tag: v1.26.6}\n    hostNetworking: true\n    nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}\n" +
		"    tolerations: [{operator: Exists}]\n    args:\n      - --cloud-provider=aws\n      " +
		strings.Join(append(lines, "- --configure-cloud-routes=false"), "\n      ") + "\n"
}

func TestTheFlagOfAChartThatIsThere(t *testing.T) {
	without := options
	without.LeaderMigration = false
	for _, c := range []struct {
		name, before, want string
		o                  Options
	}{
		{"is switched on where it is", complete("- --enable-leader-migration=false # for now"), complete("- --enable-leader-migration=true # for now"), options},
		{"keeps its quotes", complete("- '--enable-leader-migration=false'"), complete("- '--enable-leader-migration=true'"), options},
		{"is switched on wherever it is", complete("- --enable-leader-migration", "- --enable-leader-migration=false"), complete("- --enable-leader-migration=true", "- --enable-leader-migration=true"), options},
		{"is kept where it is on", complete("- --enable-leader-migration"), "", options},
		{"goes without leader migration", complete("- --v=2", "- --enable-leader-migration=true"), complete("- --v=2"), without},
		{"needs not go where it is off", complete("- --enable-leader-migration=false"), "", without},
	} {
		assert.Equal(t, completed(t, c.before, c.o), c.want, c.name)
	}
}
