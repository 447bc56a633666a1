// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// ready is what a cluster that nothing happens to says of itself.
var ready = []string{"Created", "Connected", "Provisioned", "Updated", "Ready"}

// create writes an object that may be there already.
func (s *Server) create(ctx context.Context, at schema.GroupVersionResource, namespace string, o map[string]any) error {
	_, err := s.dynamic.Resource(at).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// change changes an object, and writes it only where that changed something. sub is "status" where the
// status is written by itself.
func (s *Server) change(ctx context.Context, at schema.GroupVersionResource, namespace, name string, change func(map[string]any), sub ...string) error {
	client := s.dynamic.Resource(at).Namespace(namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before, err := json.Marshal(o.Object)
		if err != nil {
			return err
		}
		change(o.Object)
		after, err := json.Marshal(o.Object)
		if err != nil || string(before) == string(after) {
			return err
		}
		if len(sub) > 0 {
			_, err = client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
		} else {
			_, err = client.Update(ctx, o, metav1.UpdateOptions{})
		}
		return err
	})
}

// addLocal writes the objects of the cluster that Rancher runs in, which no one is to migrate.
func (s *Server) addLocal(ctx context.Context) error {
	settled := map[string]any{"clusterName": localName, "ready": true}
	for _, name := range ready {
		ranchertest.SetCondition(settled, name, "True", "")
	}
	err := s.create(ctx, managed, "", map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "metadata": map[string]any{"name": localName},
		"spec": map[string]any{"displayName": localName, "internal": true}, "status": settled,
	})
	if err != nil {
		return err
	}
	if err := s.create(ctx, clusters, localNamespace, provisioned(localName, localNamespace, map[string]any{})); err != nil {
		return err
	}
	return s.change(ctx, clusters, localNamespace, localName, func(o map[string]any) { o["status"] = settled }, "status")
}

// provisioned is a cluster as the API of provisioning shows it.
func provisioned(name, namespace string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "provisioning.cattle.io/v1", "kind": "Cluster",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": spec,
	}
}
