// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy does what RKE2's servers do with the manifests that they are given: objects are applied,
// those of a manifest that is gone are deleted, and charts are installed by Jobs that run the real helm.
//
// Invariant: what is in the cluster came from a manifest or from a chart that a manifest names.
package deploy

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// Applier writes objects of any kind: what is there is brought to what is requested.
type Applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// NewApplier returns an applier that acts as a user of the cluster.
func NewApplier(config *rest.Config) (*Applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Applier{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}, nil
}

// Apply writes one object, given as YAML.
func (a *Applier) Apply(ctx context.Context, text []byte) error {
	o, at, err := a.find(text)
	if err != nil {
		return err
	}
	_, err = at.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "deploy", Force: true})
	return about(o, err)
}

// Delete takes one object away, given as YAML. One that is gone already is no fault.
func (a *Applier) Delete(ctx context.Context, text []byte) error {
	o, at, err := a.find(text)
	if err != nil {
		return err
	}
	if err := at.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		return about(o, err)
	}
	return nil
}

// find returns an object and where objects of its kind are.
func (a *Applier) find(text []byte) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return nil, nil, fmt.Errorf("deploy: manifest: %w", err)
	}
	kind := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil, about(o, err)
	}
	if mapping.Scope.Name() != "namespace" {
		return o, a.client.Resource(mapping.Resource), nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return o, a.client.Resource(mapping.Resource).Namespace(namespace), nil
}

func about(o *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("deploy: %s %s: %w", o.GetKind(), o.GetName(), err)
}
