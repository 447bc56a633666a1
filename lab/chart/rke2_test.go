// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// choice is what an operator chooses, and what the cluster's file holds already.
type choice struct {
	name   string
	target transform.Target
	next   bool   // the switch also moves to the next minor
	global string // lines of machineGlobalConfig
	rest   string // keys of rkeConfig
}

const (
	newerTag     = "v1.28.1"
	ownImage     = "registry.example.com/mirror/aws-ccm"
	inlineConfig = "      cloud-provider-config: |\n        [Global]\n        Zone = eu-west-1a\n"
	secretConfig = "      cloud-provider-config: secret://fleet-default:demo-cloud\n"
)

var choices = []choice{
	{name: "as it is"},
	{name: "a cloud configuration", global: inlineConfig},
	{name: "a cloud configuration in a Secret", global: secretConfig},
	{name: "leader migration stays on", target: transform.Target{KeepLeaderMigration: true}},
	{name: "no leader migration", target: transform.Target{NoLeaderMigration: true}},
	{name: "the override", target: transform.Target{EndState: transform.EndStateOverride}},
	{name: "an upgrade", next: true},
	{name: "repositories of one's own", target: transform.Target{ImageRepository: ownImage, ChartRepo: "https://charts.example.com"}},
	{name: "a configuration", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate}},
	{name: "a configuration, another lease and a cloud configuration", global: inlineConfig, target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, LeaseName: "demo-migration"}},
	{name: "a configuration for a newer image", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, ImageTag: newerTag}},
	{name: "a configuration that stays, for a newer image", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, ImageTag: newerTag, KeepLeaderMigration: true}},
	{name: "the published values, completed", rest: manifestOf(publishedRKE2)},
	{name: "the published values, completed, and a configuration", rest: manifestOf(publishedRKE2), target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate}},
}

// manifestOf returns an additionalManifest whose chart has these values.
func manifestOf(values string) string {
	const head = "    additionalManifest: |\n      apiVersion: helm.cattle.io/v1\n      kind: HelmChart\n      metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n" +
		"      spec:\n        bootstrap: true\n        chart: aws-cloud-controller-manager\n        repo: https://kubernetes.github.io/cloud-provider-aws\n        targetNamespace: kube-system\n        valuesContent: |\n"
	return head + "          " + strings.ReplaceAll(strings.TrimSuffix(values, "\n"), "\n", "\n          ") + "\n"
}

// shape is a way in which a cluster's machines have roles.
type shape struct {
	name, pools string
	roles       []string // that its machines can have
	taint       corev1.Taint
}

// reserved is a taint of one's own.
var reserved = corev1.Taint{Key: "example.com/reserved", Value: "control", Effect: corev1.TaintEffectNoExecute}

var shapes = []shape{
	{name: "registered machines", roles: allRoles},
	{name: "all roles", pools: "    machinePools:\n      - {name: all, controlPlaneRole: true, etcdRole: true, workerRole: true, quantity: 3}\n", roles: []string{"control-plane+etcd+worker"}},
	{name: "separate roles", pools: "    machinePools:\n      - {name: cp, controlPlaneRole: true, quantity: 3}\n      - {name: etcd, etcdRole: true, quantity: 3}\n      - {name: workers, workerRole: true, quantity: 3}\n", roles: []string{"control-plane", "etcd", "worker"}},
	{name: "reserved control planes", pools: "    machinePools:\n      - {name: cp, controlPlaneRole: true, etcdRole: true, quantity: 3, taints: [{key: example.com/reserved, value: control, effect: NoExecute}]}\n      - {name: workers, workerRole: true, quantity: 3}\n",
		roles: []string{"control-plane+etcd", "worker"}, taint: reserved},
}

// edited are the stages after which a chart is installed again, from the one on that adds it.
var edited = []string{stages.InstallCCM, stages.SwitchToExternal, stages.DisableLeaderMigration}

// onRKE2Clusters returns what rke-lm writes into RKE2 clusters of a minor for a
// version of the chart.
func onRKE2Clusters(t *testing.T, minor, version string) []rendering {
	t.Helper()
	var all []rendering
	for _, s := range shapes {
		for _, c := range choices {
			if !c.settle(minor, version, "+rke2r1") {
				continue
			}
			p := planned(t, minor, s.pools, c)
			begun := false
			for _, step := range p.Steps {
				if begun = begun || step.Stage.Name == stages.InstallCCM; begun && slices.Contains(edited, step.Stage.Name) {
					all = append(all, installed(t, step, minor, s, c))
				}
			}
		}
	}
	return all
}

// settle fills in what depends on the cluster; false says that there is nothing to
// move to, or that the choice is one of leader migration, which ends with 1.26.
func (c *choice) settle(minor, version, build string) bool {
	c.target.ChartVersion = version
	if pastInTree(minor) {
		if c.next || c.target.LeaderMigrationConfig != "" || c.target.KeepLeaderMigration {
			return false
		}
		c.target.NoLeaderMigration = true
	}
	if c.next {
		c.target.Version = after(minor) + ".9" + build
	}
	return !c.next || tags[after(minor)] != ""
}

// after returns the next minor.
func after(minor string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(minor, "v1."))
	if err != nil {
		return "" // the tags have no such minor
	}
	return fmt.Sprintf("v1.%d", n+1)
}

func planned(t *testing.T, minor, machines string, c choice) *plan.Plan {
	t.Helper()
	text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: demo, namespace: fleet-default}\nspec:\n  kubernetesVersion: " + minor + ".9+rke2r1\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n" +
		c.global + machines + c.rest
	doc, err := yamledit.ParseString("demo.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(rke2.Format(), transform.Only(doc), c.target)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	checkManager(t, p, minor, c)
	return p
}

// installed returns what Rancher gives RKE2's Helm controller after a stage.
func installed(t *testing.T, step plan.Step, minor string, s shape, c choice) rendering {
	t.Helper()
	g := rendering{name: strings.Join([]string{s.name, c.name, "after " + step.Stage.Name}, ", "), minor: minor, nodes: onRKE2.Nodes(allRoles...), configMaps: map[string]corev1.ConfigMap{}}
	if c.rest != "" {
		g.nodes = onRKE2.Nodes(s.roles...) // values of one's own are changed only where this cluster needs it
	}
	g.nodes = append(g.nodes, s.tainted()...)
	in, err := step.After()[0].Root().Get("spec", "rkeConfig", "additionalManifest").Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range in.Documents() {
		g.add(t, d, c.target.ChartVersion)
	}
	if g.values == "" {
		t.Fatalf("%s: there is no chart", g.name)
	}
	if c.global == secretConfig {
		g.secrets = append(g.secrets, "aws-cloud-config") // an action copies it
	}
	g.expect(step.Stage.Name, c)
	return g
}

// tainted returns the control planes of a shape with a taint of its own.
func (s shape) tainted() []Node {
	if s.taint.Key == "" {
		return nil
	}
	nodes := onRKE2.Nodes(s.roles[0])
	for i := range nodes {
		nodes[i].Name += ", reserved"
		nodes[i].Spec.Taints = append(nodes[i].Spec.Taints, s.taint)
	}
	return nodes
}

// add takes over one document of the manifest.
func (g *rendering) add(t *testing.T, d *yamledit.Document, version string) {
	t.Helper()
	kind, _ := d.Root().Get("kind").String()
	name, _ := d.Root().Get("metadata", "name").String()
	switch kind {
	case "HelmChart":
		g.values, _ = d.Root().Get("spec", "valuesContent").String()
		if got, _ := d.Root().Get("spec", "version").String(); got != version {
			t.Errorf("%s: chart %s is pinned, not %s", g.name, got, version)
		}
	case "Secret":
		g.secrets = append(g.secrets, name)
	case "ConfigMap":
		var m corev1.ConfigMap
		if err := yaml.UnmarshalStrict(d.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		g.configMaps[name] = m
	}
}

// expect states what the values have to come to.
func (g *rendering) expect(stage string, c choice) {
	end := stage == stages.DisableLeaderMigration
	migrates := !c.target.NoLeaderMigration && (!end || c.target.KeepLeaderMigration)
	configured := migrates && c.target.LeaderMigrationConfig != ""
	tag := tags[g.minor]
	if end && c.next {
		tag = tags[after(g.minor)]
	}
	if c.target.ImageTag != "" && (!end || configured) {
		tag = c.target.ImageTag
	}
	g.image = repository + ":" + tag
	if c.target.ImageRepository != "" {
		g.image = c.target.ImageRepository + ":" + tag
	}
	list := []string{"--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"}
	if migrates {
		list = append(list, "--enable-leader-migration=true")
	}
	if configured {
		list = append(list, "--leader-migration-config=/etc/leader-migration/leadermigration.conf")
	}
	if c.global != "" {
		list = append(list, "--cloud-config=/etc/aws-cloud-config/cloud.conf")
	}
	if g.needed, g.args = list[1:], list; c.rest != "" {
		g.args = nil
	}
}

// namesOf are the names by which an image registers what is migrated.
func namesOf(image string) []string {
	if strings.HasSuffix(image, ":"+newerTag) {
		return []string{"node-route-controller", "service-lb-controller", "cloud-node-lifecycle-controller"}
	}
	return []string{"route", "service", "cloud-node-lifecycle"}
}

// checkManager reads the configuration of kube-controller-manager, where there is
// one, as it does.
func checkManager(t *testing.T, p *plan.Plan, minor string, c choice) {
	t.Helper()
	if c.target.LeaderMigrationConfig == "" {
		return
	}
	step, _ := p.Step(stages.EnableLeaderMigration)
	files, err := step.Files()
	i := slices.IndexFunc(files, func(f action.File) bool { return strings.Contains(f.Name, "configmap") })
	if err != nil || i < 0 {
		t.Fatalf("%s: there is no ConfigMap for Rancher: %v", c.name, err)
	}
	var m corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(files[i].Content), &m); err != nil {
		t.Fatal(err)
	}
	checkManagerFile(t, m.Data["leadermigration.conf"], minor, c)
}

func checkManagerFile(t *testing.T, text, minor string, c choice) {
	t.Helper()
	for _, what := range unmigrated(t, text, "kube-controller-manager", []string{"route", "service", "cloud-node-lifecycle"}) {
		t.Errorf("Kubernetes %s, %s: %s", minor, c.name, what)
	}
}
