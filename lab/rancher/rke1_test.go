// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke1"
)

const rke1Cluster = `apiVersion: management.cattle.io/v3
kind: Cluster
metadata: {name: c-lab00}
spec:
  displayName: legacy
  rancherKubernetesEngineConfig:
    kubernetesVersion: v1.26.15-rancher1-1
    cloudProvider: {name: aws}
    services:
      kubeController: {extraArgs: {v: "2"}}
`

func TestRKEBringsAClusterToItsObjectAndReleasesCordons(t *testing.T) {
	l := &lab{T: t, Server: started(t)}
	d := assert.Value(l.AddRKE1(t.Context(), document(t, rke1Cluster), 1, 1))(t)
	l.connect(d)
	node := d.Machines[0].Node
	if _, err := l.downstream.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	l.patch(managed, "", d.ID, `[{"op":"add","path":"/spec/rancherKubernetesEngineConfig/services/kubeController/extraArgs/enable-leader-migration","value":"true"}]`)
	eventually(t, "the applied specification", func(ctx context.Context) (bool, string) {
		applied := fmt.Sprint(l.status(ctx, managed, "", d.ID, "appliedSpec"))
		return strings.Contains(applied, "enable-leader-migration"), applied
	})
	if list := l.run(cluster.KCM); len(list) != 1 || !strings.Contains(list[0], "--enable-leader-migration=true") {
		t.Error(list)
	}
	n, err := l.downstream.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil || n.Spec.Unschedulable {
		t.Error("the node is still cordoned:", err)
	}
	l.backedUpWhereThereIsAConfigurationForIt(d)
}

// backedUpWhereThereIsAConfigurationForIt asks for a snapshot that never gets a condition, and gives the
// cluster what was missing.
func (l *lab) backedUpWhereThereIsAConfigurationForIt(d *rancher.Downstream) {
	l.Helper()
	doc := []byte(`{"spec":{"rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1"}}}`)
	raw := assert.Value(rke1.Format().Live.Snapshot.(transform.SnapshotByObject).Make(doc, d.ID, "", "one"))(l)
	o := &unstructured.Unstructured{}
	assert.NilError(l, json.Unmarshal(raw, &o.Object))
	o.SetOwnerReferences(nil)
	if _, err := l.local.Resource(backups).Namespace(d.ID).Create(l.Context(), o, metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
	l.patch(managed, "", d.ID, `[{"op":"add","path":"/spec/rancherKubernetesEngineConfig/services/kubeController/extraArgs/profiling","value":"false"}]`)
	eventually(l.T, "a later round", func(ctx context.Context) (bool, string) {
		applied := fmt.Sprint(l.status(ctx, managed, "", d.ID, "appliedSpec"))
		return strings.Contains(applied, "profiling"), applied
	})
	if conditions := l.status(l.Context(), backups, d.ID, "one", "conditions"); conditions != nil {
		l.Error("a cluster without backupConfig is snapshotted:", conditions)
	}
	l.patch(managed, "", d.ID, `[{"op":"add","path":"/spec/rancherKubernetesEngineConfig/services/etcd","value":{"backupConfig":{"enabled":false}}}]`)
	eventually(l.T, "the snapshot", func(ctx context.Context) (bool, string) {
		conditions, _ := l.status(ctx, backups, d.ID, "one", "conditions").([]any)
		return len(conditions) == 2 && strings.Contains(fmt.Sprint(conditions[1]), "status:True type:Completed"), fmt.Sprint(conditions)
	})
	if configs, err := l.Restorable(l.Context(), d); err != nil || len(configs) != 1 || d.Snapshots() != 1 {
		l.Error(configs, err, d.Snapshots())
	}
}
