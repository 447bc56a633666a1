// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Hard is a cluster with many of one thing: code that goes through all of them for each of
// them is found out.
type Hard struct {
	Of    string
	Usual int // how many of it make work that can be measured
	part  string
	each  string // with %[1]d for its number
	pools bool   // it is the machine pools
	// then follows, and as many of item, and last.
	then, item, last string
	documents        bool // it is the cluster
}

// Hardest lists what can be many.
func Hardest() []Hard {
	return []Hard{
		{Of: "arguments", Usual: 10_000, part: "      kube-apiserver-arg:\n", each: "      - v%[1]d=%[1]d\n"},
		{Of: "arguments of the manager, with comments", Usual: 10_000, part: "      kube-controller-manager-arg:\n", each: "      - v%[1]d=%[1]d # argument\n"},
		{Of: "keys of the configuration", Usual: 5_000, each: "      key%[1]d: v\n"},
		{Of: "entries with a selector", Usual: 2_000, part: "    machineSelectorConfig:\n", each: "    - config: {kubelet-arg: [v=%[1]d]}\n      machineLabelSelector: {matchLabels: {a: b%[1]d}}\n"},
		{Of: "entries for all machines", Usual: 2_000, part: "    machineSelectorConfig:\n", each: "    - config: {kubelet-arg: [v=%[1]d]}\n"},
		{Of: "files of machines", Usual: 2_000, part: "    machineSelectorFiles:\n", each: "    - fileSources: [{configMap: {name: a%[1]d, items: [{key: a, path: /a%[1]d}]}}]\n"},
		{Of: "manifests in one string", Usual: 2_500, part: "    additionalManifest: |\n", each: "      kind: ConfigMap\n      apiVersion: v1\n      metadata: {name: a%[1]d}\n      ---\n"},
		{Of: "comments in a manifest", Usual: 10_000, part: "    additionalManifest: |\n      kind: ConfigMap\n      data:\n", each: "        a%[1]d: b # c\n"},
		{Of: "values of charts", Usual: 5_000, part: "    chartValues:\n", each: "      c%[1]d: {a: b}\n"},
		{Of: "comments", Usual: 20_000, each: "    # comment %[1]d\n"},
		{Of: "machine pools", Usual: 500, part: "    machinePools:\n", each: "    - {name: p%[1]d, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n", pools: true},
		{Of: "machine pools and keys", Usual: 500, each: "      key%[1]d: v\n", pools: true, then: "    machinePools:\n", item: "    - {name: p%[1]d, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n"},
		{Of: "machine pools and entries with a selector", Usual: 500, part: "    machineSelectorConfig:\n", each: "    - config: {kube-controller-manager-arg: [v=%[1]d]}\n      machineLabelSelector: {matchLabels: {a: b%[1]d}}\n", pools: true, then: "    machinePools:\n", item: "    - {name: p%[1]d, labels: {a: b%[1]d}, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n"},
		{Of: "machine pools and files", Usual: 500, part: "    machineSelectorFiles:\n", each: "    - fileSources: [{configMap: {name: a%[1]d, items: [{key: a, path: /a%[1]d}]}}]\n      machineLabelSelector: {matchLabels: {a: b%[1]d}}\n", pools: true, then: "    machinePools:\n", item: "    - {name: p%[1]d, labels: {a: b%[1]d}, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n"},
		{Of: "machine pools and arguments", Usual: 500, part: "      kube-controller-manager-arg:\n", each: "      - v%[1]d=%[1]d\n", pools: true, then: "    machinePools:\n", item: "    - {name: p%[1]d, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n"},
		{Of: "HelmCharts of one name", Usual: 500, part: "    additionalManifest: |\n", each: "      kind: HelmChart\n      apiVersion: helm.cattle.io/v1\n      metadata: {name: aws-cloud-controller-manager, namespace: kube-system}\n      spec: {chart: aws-cloud-controller-manager, repo: https://kubernetes.github.io/cloud-provider-aws, version: 0.0.8}\n      ---\n"},
		{Of: "equal arguments of the manager", Usual: 5_000, part: "      kube-controller-manager-arg:\n", each: "      - enable-leader-migration=true\n"},
		{Of: "roles and their bindings", Usual: 500, part: "    additionalManifest: |\n", each: "      kind: Role\n      apiVersion: rbac.authorization.k8s.io/v1\n      metadata: {name: a%[1]d, namespace: kube-system}\n      rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]\n      ---\n" +
			"      kind: RoleBinding\n      apiVersion: rbac.authorization.k8s.io/v1\n      metadata: {name: a%[1]d, namespace: kube-system}\n      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a%[1]d}\n      subjects: [{kind: User, name: \"system:kube-controller-manager\"}]\n      ---\n"},
		{Of: "mappings in a merge list", Usual: 2_000, part: "    chartValues:\n", each: "      m%[1]d: &m%[1]d {k%[1]d: v}\n", then: "      all:\n        <<: [", item: "*m%[1]d, ", last: "]\n"},
		{Of: "levels", Usual: 60, part: "    chartValues:\n      deep: ", each: "{a%[1]d: ", then: "b", item: "}", last: "\n"},
		{Of: "documents", Usual: 100, documents: true},
	}
}

// With returns the cluster with n of it.
func (h Hard) With(n int) string {
	var b strings.Builder
	if h.documents {
		for i := range n {
			b.WriteString("---\n" + strings.Replace(Hard{}.With(0), "name: hard", fmt.Sprintf("name: hard%d", i), 1))
		}
		return b.String()
	}
	b.WriteString("apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata:\n  name: hard\n  namespace: fleet-default\nspec:\n" +
		"  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n")
	b.WriteString(h.part)
	repeat := func(each string) {
		for i := range n {
			b.WriteString(strings.ReplaceAll(each, "%[1]d", strconv.Itoa(i)))
		}
	}
	repeat(h.each)
	b.WriteString(h.then)
	repeat(h.item)
	b.WriteString(h.last)
	if !h.pools {
		b.WriteString("    machinePools:\n    - {name: p, controlPlaneRole: true, etcdRole: true, quantity: 3, machineConfigRef: {kind: Amazonec2Config, name: x}}\n")
	}
	return b.String()
}

// Layered is clusters that one kustomization has, with a patch each, and kustomizations that each build on the one before.
func Layered(clusters, layers int) map[string]string {
	files := map[string]string{}
	var resources, patches strings.Builder
	for i := range clusters {
		files[fmt.Sprintf("l0/c%d.yaml", i)] = strings.Replace(Hard{}.With(0), "name: hard", fmt.Sprintf("name: hard%d", i), 1)
		fmt.Fprintf(&resources, "- c%d.yaml\n", i)
		fmt.Fprintf(&patches, "- target: {kind: Cluster, name: 'hard.%d'}\n  patch: '[{op: add, path: /spec/a, value: b}]'\n", i)
	}
	files["l0/kustomization.yaml"] = "resources:\n" + resources.String() + "patches:\n" + patches.String()
	for i := range layers {
		files[fmt.Sprintf("l%d/kustomization.yaml", i+1)] = fmt.Sprintf("resources: [../l%d]\ncommonLabels: {a: b}\n", i)
	}
	return files
}
