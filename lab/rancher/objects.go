// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
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

// condition sets one of the conditions of a status, with a reason if there is one. Rancher says Unknown of what
// is in progress, with the reason Waiting and what it waits for.
func condition(status map[string]any, name, is, message string, why ...string) {
	list, _ := status["conditions"].([]any)
	now := time.Now().UTC().Format(time.RFC3339)
	reason := strings.Join(why, "")
	if is == "Unknown" && message != "" {
		reason = "Waiting"
	}
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != name {
			continue
		}
		if c["status"] != is || c["message"] != message {
			c["lastUpdateTime"] = now
		}
		c["status"], c["message"], c["reason"] = is, message, reason
		return
	}
	status["conditions"] = append(list, map[string]any{"type": name, "status": is, "message": message, "reason": reason, "lastUpdateTime": now})
}

// statusOf returns the status of an object, which it makes where there is none.
func statusOf(o map[string]any) map[string]any {
	status, _ := o["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		o["status"] = status
	}
	return status
}

// plain returns a typed value as the JSON that it is written as.
func plain(v any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(v)
}

// addLocal writes the objects of the cluster that Rancher runs in, which no one is to migrate.
func (s *Server) addLocal(ctx context.Context) error {
	settled := map[string]any{"clusterName": localName, "ready": true}
	for _, name := range ready {
		condition(settled, name, "True", "")
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

// same compares as JSON: numbers may have been read in different ways.
func same(a, b any) bool {
	var x, y any
	left, err := json.Marshal(a)
	right, err2 := json.Marshal(b)
	if err != nil || err2 != nil || json.Unmarshal(left, &x) != nil || json.Unmarshal(right, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
