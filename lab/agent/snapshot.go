// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RKE2 lists its snapshots of etcd in objects of its own, which Rancher follows (k3s-io/api
// k3s.cattle.io/v1).
var snapshots = schema.GroupVersionResource{Group: "k3s.cattle.io", Version: "v1", Resource: "etcdsnapshotfiles"}

const snapshotKind = "ETCDSnapshotFile"

// extraMetadata is the ConfigMap that RKE2 keeps with a snapshot. Rancher writes the cluster's specification there.
const extraMetadata = "rke2-etcd-snapshot-extra-metadata"

// Snapshot lists a snapshot of etcd that was requested on a machine. None is taken.
func (r *RKE2) Snapshot(ctx context.Context, m Machine) error {
	with, err := r.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, extraMetadata, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	metadata := map[string]any{}
	for key, value := range with.Data {
		metadata[key] = value
	}
	now := time.Now()
	name := fmt.Sprintf("on-demand-%s-%d", m.Instance.Name, now.UnixNano())
	_, err = r.objects.Resource(snapshots).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": snapshots.GroupVersion().String(), "kind": snapshotKind, "metadata": map[string]any{"name": "local-" + name},
		"spec": map[string]any{
			"snapshotName": name, "nodeName": m.Instance.Name, "location": "file:///var/lib/rancher/rke2/server/db/snapshots/" + name, "metadata": metadata,
		},
		"status": map[string]any{"size": "1", "creationTime": now.UTC().Format(time.RFC3339), "readyToUse": true},
	}}, metav1.CreateOptions{})
	return err
}
