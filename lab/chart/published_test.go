// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"
)

// publishedRKE2 is what the published procedure has for RKE2, reduced to what
// decides.
const publishedRKE2 = `hostNetworking: true
nodeSelector:
  node-role.kubernetes.io/control-plane: "true"
tolerations:
  - {key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}
  - {key: node-role.kubernetes.io/control-plane, value: "true", effect: NoSchedule}
args:
  - --configure-cloud-routes=false
  - --v=5
  - --cloud-provider=aws
`

// publishedRKE1 is what it has for RKE1.
const publishedRKE1 = `hostNetworking: true
nodeSelector:
  node-role.kubernetes.io/controlplane: "true"
tolerations:
  - {key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}
  - {key: node-role.kubernetes.io/controlplane, value: "true", effect: NoSchedule}
args:
  - --configure-cloud-routes=false
  - --v=5
  - --cloud-provider=aws
`

// The values in this test are not those of rke-lm. It says what is wrong with
// them, and that the tests above would find it.
func TestWhatIsWrongWithOtherValues(t *testing.T) {
	for _, c := range []struct {
		name, values string
		nodes        []Node
		wrong, not   []string // parts of complaints that are made, and that are not
	}{
		{
			name: "the published values of RKE2", values: publishedRKE2, nodes: onRKE2.Nodes(allRoles...),
			wrong: []string{
				`no pod runs on the node "control-plane": the taint node-role.kubernetes.io/control-plane:NoSchedule is not tolerated`, // Rancher's taint has no value
				`no pod runs on the node "control-plane+etcd"`,
				"the image is " + repository + ":", // the chart's own, whatever the cluster's minor
				"there is no argument --enable-leader-migration=true",
			},
			not: []string{`"control-plane+worker"`, `"control-plane+etcd+worker"`, "which is no control plane"},
		},
		{
			name: "the published tolerations with the right value", values: strings.ReplaceAll(publishedRKE2, `value: "true"`, "operator: Exists"), nodes: onRKE2.Nodes(allRoles...),
			wrong: []string{`no pod runs on the node "control-plane+etcd": the taint node-role.kubernetes.io/etcd:NoExecute is not tolerated`},
			not:   []string{`on the node "control-plane":`},
		},
		{
			name: "the published values of RKE1", values: publishedRKE1, nodes: onRKE1.Nodes(allRoles...),
			wrong: []string{`no pod runs on the node "control-plane+etcd+worker": the node selector does not match`}, // Helm merges the chart's own selector
		},
		{
			name: "the published values of RKE1 without the chart's selector", values: strings.Replace(publishedRKE1, "nodeSelector:\n", "nodeSelector:\n  node-role.kubernetes.io/control-plane: null\n", 1), nodes: onRKE1.Nodes(allRoles...),
			wrong: []string{`no pod runs on the node "control-plane+etcd": the taint node-role.kubernetes.io/etcd:NoExecute is not tolerated`},
			not:   []string{`on the node "control-plane":`, `"control-plane+etcd+worker"`},
		},
		{
			name: "no values at all", values: "{}", nodes: onRKE2.Nodes(allRoles...),
			wrong: []string{"the node selector does not match", "the pods have a network of their own"},
		},
		{
			name: "tolerations of everything without a selector", values: "nodeSelector: {node-role.kubernetes.io/control-plane: null}\ntolerations: [{operator: Exists}]\n", nodes: onRKE2.Nodes(allRoles...),
			wrong: []string{`a pod runs on the node "worker", which is no control plane`, `a pod runs on the node "etcd"`},
		},
		{
			name: "an account for each controller", values: "args: [--cloud-provider=aws, --use-service-account-credentials=true]\n",
			wrong: []string{"the service account may not get serviceaccounts"},
		},
		{
			name: "an account for each controller, with the right to it", values: "args: [--use-service-account-credentials=true]\nclusterRoleRules:\n  - {apiGroups: ['*'], resources: ['*'], verbs: ['*']}\n",
			not: []string{"the service account may not"},
		},
		{
			name: "a configuration that is not mounted", values: "args: [--leader-migration-config=/etc/leader-migration/leadermigration.conf]\n",
			wrong: []string{"/etc/leader-migration/leadermigration.conf is not mounted"},
		},
		{
			name: "a configuration that nothing makes", values: "args: [--leader-migration-config=/c/leadermigration.conf]\nextraVolumes: [{name: c, configMap: {name: c}}]\nextraVolumeMounts: [{name: c, mountPath: /c, readOnly: true}]\n",
			wrong: []string{"no ConfigMap c holds leadermigration.conf"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range All {
				g := rendering{minor: "v1.26", values: c.values, nodes: c.nodes, needed: []string{"--enable-leader-migration=true"}, image: repository + ":" + tags["v1.26"]}
				got := g.check(t, loaded(t, p))
				has := func(part string) bool {
					return slices.ContainsFunc(got, func(what string) bool { return strings.Contains(what, part) })
				}
				for _, part := range c.wrong {
					if !has(part) {
						t.Errorf("chart %s: nothing has %s in\n%s", p.Chart, part, strings.Join(got, "\n"))
					}
				}
				for _, part := range c.not {
					if has(part) {
						t.Errorf("chart %s: something has %s in\n%s", p.Chart, part, strings.Join(got, "\n"))
					}
				}
			}
		})
	}
}
