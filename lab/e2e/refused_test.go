// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Clusters that Rancher has and that rke-lm has to leave alone, and what it says of each.
var refused = []struct{ name, labels, spec, says string }{
	{"imported", "", "{}", "imported"},
	{"k3s", "", "{kubernetesVersion: v1.26.15+k3s1, rkeConfig: {machineGlobalConfig: {}}}", "k3s"},
	{"paused", "annotations: {cluster.x-k8s.io/paused: 'true'}", inTree, "paused"},
	{"fleet", "annotations: {objectset.rio.cattle.io/id: default-clusters, meta.helm.sh/release-name: clusters}, labels: {objectset.rio.cattle.io/hash: abcdef}", inTree, "managed-elsewhere"},
	{"argo", "annotations: {'argocd.argoproj.io/tracking-id': 'clusters:provisioning.cattle.io/Cluster:fleet-default/argo'}", inTree, "managed-elsewhere"},
	{"unsettled", "", inTree, "not-settled"},
	{broken, "", strings.Replace(inTree, "v1.26", "v1.28", 1), "keeps the components of v1.28.15+rke2r1 from starting"},
}

// broken is a cluster that was upgraded with the provider.
const broken = "broken"

const inTree = "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, machinePools: [{name: cp, controlPlaneRole: true, etcdRole: true, quantity: 1}]}}"

// A cluster that is not to be migrated is refused before anything is written, and the reason is said.
func TestClustersOfARancherThatAreNotToBeMigratedAreRefused(t *testing.T) {
	t.Parallel()
	c := withoutClusters(t)
	at := c.clusterObjects()
	for _, r := range refused {
		o := &unstructured.Unstructured{}
		text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: " + r.name + ", " + r.labels + "}\nspec: " + r.spec
		assert.NilError(t, yaml.Unmarshal([]byte(text), &o.Object))
		o = assert.Value(at.Create(t.Context(), o, metav1.CreateOptions{}))(t)
		o.Object["status"] = map[string]any{"clusterName": "c-m-" + r.name, "observedGeneration": int64(1)}
		if _, err := at.UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		assert.NilError(t, c.rancher.Borrow(t.Context(), "c-m-"+r.name, r.name))
		c.refuses(rancher.Namespace+"/"+r.name, r.says)
	}
	c.refuses("fleet-local/local", "local")
	c.shows(rancher.Namespace+"/"+broken, plan.ProgressBroken("v1.28"))
	for name := range c.written() {
		t.Errorf("%s was written to", name)
	}
	c.end("refused")
}

// refuses requires that a migration is refused, for a reason that it says.
func (c *managed) refuses(name, why string) {
	c.Helper()
	r := c.start(nil, "migrate", "--cluster", name)
	<-r.ended
	if printed := r.printed.String() + r.fault.String(); r.code != 4 || !strings.Contains(strings.ToLower(printed), why) {
		c.Errorf("%s: exit code %d, want 4 and %q\n%s", name, r.code, why, printed)
	}
}

// withoutClusters starts a Rancher without clusters.
func withoutClusters(t *testing.T) *managed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real API server")
	}
	dir := folder(t)
	server := assert.Value(rancher.Start(t.Context(), dir, relaxed))(t)
	t.Cleanup(server.Stop)
	explain(t, server.LogTail)
	c := &managed{runner: running(&scenario{T: t}, server, "", dir), rancher: server, downstream: &rancher.Downstream{}}
	c.owes()
	return c
}
