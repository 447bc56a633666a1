// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// settings are those of the in-tree provider in a cluster.yml.
const settings = "  awsCloudProvider:\n    global:\n      zone: eu-west-1a\n"

var choicesOnRKE1 = []choice{
	{name: "as it is"},
	{name: "settings of the provider", global: settings},
	{name: "leader migration stays on", target: transform.Target{KeepLeaderMigration: true}},
	{name: "no leader migration", target: transform.Target{NoLeaderMigration: true}},
	{name: "an upgrade", next: true},
	{name: "an upgrade, and leader migration stays on", next: true, target: transform.Target{KeepLeaderMigration: true, LeaderMigrationConfig: transform.ConfigGenerate}},
	{name: "repositories of one's own", target: transform.Target{ImageRepository: ownImage, ChartRepo: "https://charts.example.com"}},
	{name: "a configuration", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate}},
	{name: "a configuration, another lease and settings", global: settings, target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, LeaseName: "demo-migration"}},
	{name: "a configuration for a newer image", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, ImageTag: newerTag}},
	{name: "values of one's own, without any of the chart", target: ownValues("resources: {requests: {cpu: 250m}}\n")},
	{name: "values of one's own, with the selector of the chart", target: ownValues("# A copy of the chart's own.\nargs:\n- --v=2\n- --cloud-provider=aws\nnodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\n")},
	{name: "values of one's own, with the selector of RKE", target: ownValues("nodeSelector: {node-role.kubernetes.io/controlplane: \"true\"}\ntolerations: [{key: node-role.kubernetes.io/controlplane, operator: Exists}]\n")},
	{name: "values of one's own, settings and a configuration", global: settings, target: configured(ownValues("{\"args\": [\"--v=2\", \"--cloud-provider=aws\"], \"hostNetworking\": true}\n"))},
}

// ownValues is the choice of a values file.
func ownValues(text string) transform.Target {
	doc, err := yamledit.ParseString("values.yaml", text)
	if err != nil {
		panic(err)
	}
	return transform.Target{Values: doc}
}

func configured(t transform.Target) transform.Target {
	t.LeaderMigrationConfig = transform.ConfigGenerate
	return t
}

// onRKE1Clusters returns what rke-lm writes for RKE1 clusters of a minor and a
// version of the chart.
func onRKE1Clusters(t *testing.T, minor, version string) []rendering {
	t.Helper()
	var all []rendering
	if minor > lastOnRKE1 {
		return nil
	}
	for _, c := range choicesOnRKE1 {
		if !c.settle(minor, version, "-rancher1-1") {
			continue
		}
		p := plannedRKE1(t, minor, c)
		var related []action.File // what earlier stages brought to the cluster
		for _, stage := range []string{stages.InstallCCM, stages.DisableLeaderMigration} {
			step, found := p.Step(stage)
			files, err := step.Files()
			if err != nil {
				t.Fatal(err)
			}
			if related = append(related, files...); found && len(files) > 0 {
				all = append(all, given(t, minor, stage, c, files, related))
			}
		}
	}
	return all
}

func plannedRKE1(t *testing.T, minor string, c choice) *plan.Plan {
	t.Helper()
	doc, err := yamledit.ParseString("cluster.yml", "cluster_name: demo\nkubernetes_version: "+minor+".9-rancher1-1\nnodes:\n- {address: 203.0.113.1, internal_address: 10.0.0.1, role: [controlplane, etcd]}\ncloud_provider:\n  name: aws\n"+c.global)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(rke1.Format(), transform.Only(doc), c.target)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if step, found := p.Step(stages.EnableLeaderMigration); found {
		files, err := step.Files()
		i := slices.IndexFunc(files, func(f action.File) bool { return f.Name == "leadermigration.conf" })
		if configured := c.target.LeaderMigrationConfig != ""; err != nil || configured != (i >= 0) {
			t.Errorf("%s: the plan has a configuration for kube-controller-manager: %v, %v", c.name, i >= 0, err)
		} else if configured {
			checkManagerFile(t, files[i].Content, minor, c)
		}
	}
	return p
}

// given returns what helm upgrade --install is given in a stage.
func given(t *testing.T, minor, stage string, c choice, files, related []action.File) rendering {
	t.Helper()
	g := rendering{name: c.name + ", in " + stage, minor: minor, nodes: onRKE1.Nodes(allRoles...), configMaps: map[string]corev1.ConfigMap{}}
	for _, f := range related {
		switch {
		case f.Name == "cloud.conf":
			g.secrets = append(g.secrets, "aws-cloud-config") // an action makes it
		case strings.Contains(f.Content, "kind: ConfigMap"):
			var m corev1.ConfigMap
			if err := yaml.UnmarshalStrict([]byte(f.Content), &m); err != nil {
				t.Fatal(err)
			}
			g.configMaps[m.Name] = m
		}
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name, "aws-ccm-values") {
			g.values = f.Content
		}
	}
	g.expect(stage, c)
	return g
}
