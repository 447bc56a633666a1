// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestOnlyClustersOfRKEAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a cluster.yml":                           {nodes, true},
		"nodes without a control plane":           {"nodes:\n- {address: a, role: [worker]}\n", false},
		"a provider next to a version":            {at(release, onAWS), true},
		"a provider without a value":              {at(release, "cloud_provider:\n"), true},
		"a provider alone":                        {onAWS, false},
		"a provider that is a word":               {at(release, "cloud_provider: aws\n"), false},
		"what Rancher's interface shows":          {"name: a\nrancher_kubernetes_engine_config:\n  services: {}\n", true},
		"an object of Rancher's API":              {"kind: Cluster\nspec:\n  rancherKubernetesEngineConfig: {}\n", true},
		"a template of clusters":                  {"spec:\n  clusterConfig:\n    rancherKubernetesEngineConfig: {}\n", true},
		"a wrapper without a value":               {"rancher_kubernetes_engine_config:\n", false},
		"services of Docker Compose":              {"services:\n  kube-controller: {image: a}\n", false},
		"nodes of kind":                           {"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n- role: control-plane\n", false},
		"an object of Kubernetes with such nodes": {"apiVersion: example.com/v1\n" + nodes, false},
		"a list": {"- " + "a\n", false},
	} {
		doc := parse(t, c.text)
		assert.Equal(t, IsCluster(doc), c.want, name)
		assert.Truef(t, !c.want || Format().Words.In(doc.Bytes()), "%s: a search would pass over it", name)
	}
}

// What only shares words with a cluster is not even parsed.
func TestASearchPassesOverWhatOnlySharesWords(t *testing.T) {
	for name, text := range map[string]string{
		"values of a chart":      "cloud_provider: {{ .Values.provider }}\ncontrolplane: {replicas: 3}\n",
		"a provider elsewhere":   "app:\n  cloud_provider: aws\nkubernetes_version: v1\n",
		"an inventory of nodes":  "all:\n  nodes: [controlplane]\n",
		"a role in another word": "nodes: [mycontrolplanes]\n",
	} {
		assert.Truef(t, !Format().Meant([]byte(text)), "%s is to be parsed", name)
	}
}

func TestKeysAreSpeltAsTheDocumentSpellsThem(t *testing.T) {
	for key, want := range map[string]string{
		manager: "kubeController", argsKey: "extraArgs", winArrayKey: "winExtraArgsArray", metadataKey: metadataKey, addonsKey: "addons", versionKey: "kubernetesVersion",
	} {
		assert.Equal(t, camel.of(key), want, key)
		assert.Equal(t, snake.of(key), key)
	}
}

func TestAClusterIsNamedByRKEOrByRancher(t *testing.T) {
	for text, want := range map[string]string{
		"cluster_name: heron\nname: other\n" + nodes:                                                                  "heron",
		"name: heron\nrancher_kubernetes_engine_config: {}\n":                                                         "heron",
		"metadata: {name: c-abcde}\nspec: {rancherKubernetesEngineConfig: {}}\n":                                      "c-abcde",
		"metadata: {name: c-abcde}\nspec: {rancherKubernetesEngineConfig: {clusterName: heron}}\n":                    "heron",
		"cluster_name: \"\"\n" + nodes:                                                                                "",
		"rancher_kubernetes_engine_config: {cluster_name: heron, kubernetes_version: v1.26.15-rancher1-1}\nname: x\n": "heron",
	} {
		assert.Equal(t, identify(parse(t, text)).Name, want, text)
	}
}

// heron is an object of Rancher with RKE's configuration.
func heron(config string) string {
	return `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-heron"},"spec":{"displayName":"heron","rancherKubernetesEngineConfig":` + config + `}}`
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	assert.NilError(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestTwoObjectsAreTheSameToRancher(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		alike      bool
	}{
		{"empty services", `{"services":{"kubeController":{},"etcd":{}}}`, `{}`, true},
		{"null, empty texts, lists and zeros", `{"addons":"","nodes":null,"addonsInclude":[],"addonJobTimeout":0,"services":{"kubeController":{"extraArgs":{}}}}`, `{}`, true},
		{"keys that its types do not know", `{"odd":1}`, `{}`, true},
		{"a block of settings without any makes the provider aws", `{"cloudProvider":{"name":"external-aws","awsCloudProvider":{}}}`, `{"cloudProvider":{"name":"external-aws"}}`, false},
		{"an explicit false is kept", `{"cloudProvider":{"useInstanceMetadataHostname":false}}`, `{}`, false},
		{"an argument", `{"services":{"kubeController":{"extraArgs":{"v":"2"}}}}`, `{"services":{"kubeController":{"extraArgs":{"v":"4"}}}}`, false},
		{"what Rancher refuses is compared as it is", `{"nodes":7}`, `{"nodes":7,"addons":""}`, false},
	} {
		assert.Equal(t, Format().Alike(value(t, heron(c.a)), value(t, heron(c.b))), c.alike, c.name)
	}
	const file = "services: {kube-controller: {}}\ncloud_provider: {name: aws}\n"
	assert.True(t, !Format().IsObject(parse(t, file)) && !Format().IsObject(parse(t, "rancher_kubernetes_engine_config: {services: {}}\n")) && Format().IsObject(parse(t, heron("{}"))), "a file of people is an object")
}

// Rancher writes an empty mapping for every service.
func TestAServiceOfAnObjectStaysEmpty(t *testing.T) {
	const services = `"services":{"etcd":{},"kubeApi":{},"kubeController":{%s},"kubelet":{}}`
	config := `{"kubernetesVersion":"v1.26.15-rancher1-1","cloudProvider":{"name":"aws","useInstanceMetadataHostname":true},"addons":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",` + services + `}`
	doc := parse(t, heron(fmt.Sprintf(config, "")))
	target := transform.Target{EndState: transform.EndStateExternal}
	p := assert.Value(plan.Build(Format(), transform.Only(doc), target))(t)
	manager := func(d *yamledit.Document) string {
		n := d.Root().Get("spec", engineKey, "services", "kubeController")
		if !n.Exists() {
			return "none"
		}
		text, _ := json.Marshal(n.Value())
		return string(text)
	}
	for stage, want := range map[string]string{
		stages.EnableLeaderMigration: `{"extraArgs":{"enable-leader-migration":"true"}}`, stages.SwitchToExternal: `{}`,
	} {
		s, err := p.Named(stage)
		assert.Truef(t, err == nil && manager(s.Documents[0].After) == want, "%s: %v %s", stage, err, manager(s.Documents[0].After))
		target.CanonicalForm = true
		back, err := plan.Undo(Format(), s.After(), target, stage, false)
		assert.Truef(t, err == nil && len(back) == 1 && manager(back[0].Documents[0].After) == manager(s.Documents[0].Before), "%s is not undone: %v", stage, err)
	}
	for _, left := range []string{fmt.Sprintf(services, ""), `"services":{"etcd":{},"kubeApi":{},"kubelet":{}}`} {
		last, _ := p.Named(stages.SwitchToExternal)
		text := string(last.After()[0].Root().JSON())
		d := parse(t, strings.Replace(text, fmt.Sprintf(services, ""), left, 1))
		back, err := plan.Undo(Format(), transform.Only(d), target, stages.SwitchToExternal, false)
		assert.Truef(t, err == nil && len(back) == 1 && strings.Contains(manager(back[0].Documents[0].After), "enable-leader-migration"), "%s: %v", left, err)
	}
}
