// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"github.com/rancher/lasso/pkg/controller"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	tools "k8s.io/client-go/tools/cache"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Watch tells a Manager what changes, with controllers of lasso.
type Watch struct {
	Config    *rest.Config // of Rancher's own cluster
	Namespace string       // of LeaderMigrations and approvals
	Manager   *Manager

	approvals tools.SharedIndexInformer
	mu        sync.Mutex
	clusters  map[string]string // what counts of each, by their keys
	outages   map[string]*outage
	began     time.Time
	ready     bool // everything was read once
}

// outage is since when a kind cannot be read, and its version before.
type outage struct {
	informer tools.SharedIndexInformer
	since    time.Time
	version  string
	err      error
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
	clients, err := client.NewSharedClientFactory(w.Config, &client.SharedClientFactoryOptions{Scheme: runtime.NewScheme(), Mapper: resources()})
	if err != nil {
		return err
	}
	w.clusters, w.outages, w.began = map[string]string{}, map[string]*outage{}, time.Now()
	small := func(o *metav1.ListOptions) { o.Limit = pageOfLarge }
	migrations, approvals := v1alpha1.GroupVersion.WithKind(v1alpha1.MigrationKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ApprovalKind)
	caches := cache.NewSharedCachedFactory(clients, &cache.SharedCacheFactoryOptions{
		KindNamespace: map[schema.GroupVersionKind]string{migrations: w.Namespace, approvals: w.Namespace},
		KindTweakList: map[schema.GroupVersionKind]cache.TweakListOptionsFunc{migrations: small, approvals: small},
	})
	factory := controller.NewSharedControllerFactory(caches, nil)
	w.Manager.Approvals = w.approved
	w.Manager.watched(w.live)
	defer w.Manager.watched(nil)
	defer w.Manager.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.register(ctx, factory); err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() { started <- factory.Start(ctx, 1) }() // it waits for the API server, whatever becomes of the context
	select {
	case err := <-started:
		if err != nil && ctx.Err() == nil {
			return &kube.Unreached{What: "watch Rancher's own cluster", Err: err}
		}
		w.mu.Lock()
		w.ready = true
		w.mu.Unlock()
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}

// pageOfLarge keeps a page of objects that can have 1.5 MiB below what an answer may have.
const pageOfLarge = 20

// live fails while a kind cannot be read: then no change is seen, and no pause.
func (w *Watch) live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ready && time.Since(w.began) > silence {
		return fmt.Errorf("not everything was read since %s", w.began.UTC().Format(time.RFC3339))
	}
	for kind, o := range w.outages {
		if o.informer.LastSyncResourceVersion() == o.version && time.Since(o.since) > silence {
			return fmt.Errorf("%s cannot be read since %s: %w", kind, o.since.UTC().Format(time.RFC3339), o.err)
		}
	}
	return nil
}

// failed is called whenever a kind cannot be read.
func (w *Watch) failed(kind string, informer tools.SharedIndexInformer, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.outages[kind]; o == nil || o.version != informer.LastSyncResourceVersion() {
		w.outages[kind] = &outage{informer, time.Now(), informer.LastSyncResourceVersion(), err}
		w.Manager.log(kind + " cannot be read: " + redact.Text(err.Error()))
	}
}

func (w *Watch) register(ctx context.Context, factory controller.SharedControllerFactory) error {
	for _, k := range []struct {
		kind   schema.GroupVersionKind
		handle func(context.Context, types.NamespacedName, *unstructured.Unstructured) error
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
			err = errors.Join(k.use(c), c.Informer().SetWatchErrorHandler(func(_ *tools.Reflector, err error) { w.failed(k.kind.Kind, c.Informer(), err) }))
		}
		if err != nil {
			return err
		}
		c.RegisterHandler(ctx, kube.Program, controller.SharedControllerHandlerFunc(func(key string, o runtime.Object) (runtime.Object, error) {
			namespace, name, err := tools.SplitMetaNamespaceKey(key)
			if err != nil {
				return nil, err
			}
			u, _ := o.(*unstructured.Unstructured) // nil for one that is deleted
			return nil, transform.Guard(key, func() error { return k.handle(ctx, types.NamespacedName{Namespace: namespace, Name: name}, u) })
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

func (w *Watch) migration(ctx context.Context, key types.NamespacedName, u *unstructured.Unstructured) error {
	if u == nil {
		w.Manager.Changed(ctx, key, nil)
		return nil
	}
	raw, err := u.MarshalJSON()
	if err == nil {
		w.Manager.Changed(ctx, key, raw)
	}
	return err
}

// approval wakes the LeaderMigration that an approval names; of one that is deleted the name is
// not known any more.
func (w *Watch) approval(_ context.Context, key types.NamespacedName, u *unstructured.Unstructured) error {
	if u == nil {
		return nil
	}
	a, err := approvalOf(u)
	if err != nil {
		w.Manager.log(key.String() + ": it approves nothing: " + redact.Text(err.Error()))
		return nil
	}
	w.Manager.Approved(types.NamespacedName{Namespace: key.Namespace, Name: a.Spec.Migration})
	return nil
}

func approvalOf(u *unstructured.Unstructured) (a v1alpha1.LeaderMigrationApproval, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &a)
	return a, err
}

// cluster passes over changes of the status alone.
func (w *Watch) cluster(_ context.Context, key types.NamespacedName, u *unstructured.Unstructured) error {
	counts := ""
	if u != nil {
		counts = fmt.Sprint(u.GetUID(), u.GetGeneration(), u.GetLabels(), u.GetAnnotations())
	}
	w.mu.Lock()
	same := w.clusters[key.String()] == counts
	w.clusters[key.String()] = counts
	w.mu.Unlock()
	if !same {
		w.Manager.ClusterChanged(key)
	}
	return nil
}

// approved are the approvals that name a LeaderMigration.
func (w *Watch) approved(namespace, migration string) (list []v1alpha1.LeaderMigrationApproval) {
	for _, o := range w.approvals.GetStore().List() {
		u, is := o.(*unstructured.Unstructured)
		if !is || u.GetNamespace() != namespace {
			continue
		}
		if a, err := approvalOf(u); err == nil && a.Spec.Migration == migration {
			list = append(list, a)
		}
	}
	return list
}
