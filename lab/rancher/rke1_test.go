// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/lab/cluster"
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
	d, err := l.AddRKE1(t.Context(), document(t, rke1Cluster), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
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
	_, err = l.local.Resource(backups).Namespace(d.ID).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "EtcdBackup", "metadata": map[string]any{"name": "one"}, "spec": map[string]any{"clusterId": d.ID},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the backup", func(ctx context.Context) (bool, string) {
		conditions := fmt.Sprint(l.status(ctx, backups, d.ID, "one", "conditions"))
		return strings.Contains(conditions, "Completed"), conditions
	})
}
