// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import "testing"

func TestOnlyClustersOfRKEAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a cluster.yml":                           {nodes, true},
		"nodes without a control plane":           {"nodes:\n- {address: a, role: [worker]}\n", false},
		"a provider beside a version":             {at(release, onAWS), true},
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
		if got := IsCluster(doc); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if c.want && !Distro().Words.In(doc.Bytes()) {
			t.Errorf("%s: a search would pass over it", name)
		}
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
		if Distro().Meant([]byte(text)) {
			t.Errorf("%s is to be parsed", name)
		}
	}
}

func TestKeysAreSpeltAsTheDocumentSpellsThem(t *testing.T) {
	for key, want := range map[string]string{
		manager: "kubeController", argsKey: "extraArgs", winArrayKey: "winExtraArgsArray", metadataKey: metadataKey, addonsKey: "addons", versionKey: "kubernetesVersion",
	} {
		if got := camel.of(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
		if got := snake.of(key); got != key {
			t.Errorf("%s: %s", key, got)
		}
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
		if got := identify(parse(t, text)).Name; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
