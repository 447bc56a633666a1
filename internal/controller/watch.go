// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"github.com/rancher/lasso/pkg/controller"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	tools "k8s.io/client-go/tools/cache"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
)

// Watch tells a Manager what changes, with controllers of lasso.
type Watch struct {
	Config    *rest.Config // of Rancher's own cluster
	Namespace string       // of LeaderMigrations and approvals
	Manager   *Manager

	approvals tools.SharedIndexInformer
	mu        sync.Mutex
	clusters  map[string]string // what counts of each, by their keys
}

// resources are those that are watched. They are not asked for: that would be one more
// permission, and one more reason to wait.
func resources() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{v1alpha1.MigrationKind, v1alpha1.ApprovalKind} {
		m.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(clusterKind(), meta.RESTScopeNamespace)
	return m
}

func clusterKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: transform.Provisioning.Group, Version: transform.Provisioning.Version, Kind: "Cluster"}
}

// Run watches until the context ends, and returns when all runs have ended.
func (w *Watch) Run(ctx context.Context) error {
	known := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(known); err != nil {
		return err
	}
	clients, err := client.NewSharedClientFactory(w.Config, &client.SharedClientFactoryOptions{Scheme: known, Mapper: resources()})
	if err != nil {
		return err
	}
	w.clusters = map[string]string{}
	caches := cache.NewSharedCachedFactory(clients, &cache.SharedCacheFactoryOptions{KindNamespace: map[schema.GroupVersionKind]string{
		v1alpha1.GroupVersion.WithKind(v1alpha1.MigrationKind): w.Namespace, v1alpha1.GroupVersion.WithKind(v1alpha1.ApprovalKind): w.Namespace,
	}})
	factory := controller.NewSharedControllerFactory(caches, nil)
	w.Manager.Approvals = w.approved
	defer w.Manager.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.register(ctx, factory); err != nil {
		return err
	}
	if err := factory.Start(ctx, 1); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the API server cannot be watched: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (w *Watch) register(ctx context.Context, factory controller.SharedControllerFactory) error {
	for _, k := range []struct {
		kind   schema.GroupVersionKind
		handle func(context.Context, types.NamespacedName, runtime.Object)
		use    func(controller.SharedController) error
	}{
		{v1alpha1.GroupVersion.WithKind(v1alpha1.ApprovalKind), w.approval, func(c controller.SharedController) error {
			w.approvals = c.Informer()
			return nil
		}},
		{clusterKind(), w.cluster, func(c controller.SharedController) error { return c.Informer().SetTransform(headOnly) }},
		{v1alpha1.GroupVersion.WithKind(v1alpha1.MigrationKind), w.migration, func(controller.SharedController) error { return nil }},
	} {
		c, err := factory.ForKind(k.kind)
		if err == nil {
			err = k.use(c)
		}
		if err != nil {
			return err
		}
		c.RegisterHandler(ctx, kube.Program, controller.SharedControllerHandlerFunc(func(key string, o runtime.Object) (runtime.Object, error) {
			namespace, name, err := tools.SplitMetaNamespaceKey(key)
			if err == nil {
				k.handle(ctx, types.NamespacedName{Namespace: namespace, Name: name}, o)
			}
			return nil, err
		}))
	}
	return nil
}

// headOnly keeps of a cluster what the controller watches: its specification is read when it
// is planned.
func headOnly(o any) (any, error) {
	if u, is := o.(*unstructured.Unstructured); is {
		u.SetManagedFields(nil)
		delete(u.Object, "spec")
		delete(u.Object, "status")
	}
	return o, nil
}

func (w *Watch) migration(ctx context.Context, key types.NamespacedName, o runtime.Object) {
	lm, _ := o.(*v1alpha1.LeaderMigration)
	w.Manager.Changed(ctx, key, lm)
}

// approval wakes the LeaderMigration that an approval names; of one that is deleted the name is
// not known any more.
func (w *Watch) approval(_ context.Context, key types.NamespacedName, o runtime.Object) {
	if a, is := o.(*v1alpha1.LeaderMigrationApproval); is && a != nil {
		w.Manager.Approved(types.NamespacedName{Namespace: key.Namespace, Name: a.Spec.Migration})
	}
}

// cluster passes over changes of the status alone.
func (w *Watch) cluster(_ context.Context, key types.NamespacedName, o runtime.Object) {
	counts := ""
	if u, is := o.(*unstructured.Unstructured); is && u != nil {
		counts = fmt.Sprint(u.GetUID(), u.GetGeneration(), u.GetLabels(), u.GetAnnotations())
	}
	w.mu.Lock()
	same := w.clusters[key.String()] == counts
	w.clusters[key.String()] = counts
	w.mu.Unlock()
	if !same {
		w.Manager.ClusterChanged(key)
	}
}

// approved are the approvals that name a LeaderMigration.
func (w *Watch) approved(namespace, migration string) (list []v1alpha1.LeaderMigrationApproval) {
	for _, o := range w.approvals.GetStore().List() {
		if a, is := o.(*v1alpha1.LeaderMigrationApproval); is && a.Namespace == namespace && a.Spec.Migration == migration {
			list = append(list, *a)
		}
	}
	return list
}
