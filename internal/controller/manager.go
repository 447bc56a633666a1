// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Interval lies between two observations of what a run waits for. No person watches it, and many runs look
// at the same time.
const Interval = 10 * time.Second

// Runs makes the runs of a LeaderMigration over its clusters.
type Runs interface {
	// Find returns the clusters that are meant, of all that the user can see; it fails where no one has the name.
	Find(ctx context.Context, which rancher.Query) ([]rancher.Object, error)
	// Plan plans a cluster; it fails for one that cannot be migrated.
	Plan(ctx context.Context, o rancher.Object) (*plan.Plan, error)
	// Open makes the run over a cluster by its NAMESPACE/NAME or its ID, from how it is now.
	Open(ctx context.Context, cluster string) (migrate.Options, error)
	// Permitted fails where the policy does not permit the choices, or what belongs to clusters in a namespace.
	Permitted(home string) error
	// Command is the command line that applies a stage to a file.
	Command(stage string) string
}

// Manager has the LeaderMigrations that are in progress.
type Manager struct {
	Client *kube.Client // of Rancher's own cluster
	// Choose reads what a LeaderMigration chooses, and accepts more rules; it fails where that is not valid.
	Choose func(ctx context.Context, spec v1alpha1.LeaderMigrationSpec, accept ...string) (Runs, error)
	// Policy reads what the operator permits.
	Policy func() (Policy, error)
	// Approvals are those that name a LeaderMigration.
	Approvals func(namespace, migration string) []v1alpha1.LeaderMigrationApproval
	// Slots bounds the runs of the process, by its capacity.
	Slots chan struct{}
	// Show is called with a cluster that has changed.
	Show func(migration string, m migrate.Member, e migrate.Event)
	// Log is called with what goes wrong outside of a run.
	Log func(string)

	mu       sync.Mutex
	active   map[types.NamespacedName]*work
	watching func() error // fails while changes are not seen; nil unless the process leads
	ended    sync.WaitGroup
}

// Changed is called with a LeaderMigration that is new or has changed, as the server wrote it; nil for one that is
// deleted. The runs of one that is deleted end as after an interrupt.
func (m *Manager) Changed(ctx context.Context, key types.NamespacedName, raw []byte) {
	lm, bad := decoded(raw)
	over := raw == nil || lm.DeletionTimestamp != nil
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.active[key]
	if w != nil && (over || lm.UID != w.current().UID || bad == nil && w.unread()) {
		w.cancel()
		delete(m.active, key)
		w = nil
	}
	switch {
	case over || ctx.Err() != nil:
	case w != nil:
		w.update(lm, bad)
	default:
		m.begin(ctx, key, lm, bad)
	}
}

// silence is for how long a loop may decide nothing: what it waits for in between is bounded by less.
const silence = 10 * time.Minute

// Live fails where the process leads, and does not see what changes or does not decide what is next.
func (m *Manager) Live() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watching != nil {
		if err := m.watching(); err != nil {
			return err
		}
	}
	for key, w := range m.active {
		if at := w.turnedAt(); !at.IsZero() && time.Since(at) > silence {
			return fmt.Errorf("nothing was decided about the LeaderMigration %s since %s", key, at.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

func (m *Manager) watched(by func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watching = by
}

// begin begins with a LeaderMigration, from its status.
func (m *Manager) begin(ctx context.Context, key types.NamespacedName, lm *v1alpha1.LeaderMigration, bad error) {
	if m.active == nil {
		m.active = map[types.NamespacedName]*work{}
	}
	ctx, cancel := context.WithCancel(ctx)
	w := newWork(m, lm, bad, cancel)
	m.active[key] = w
	m.ended.Go(func() {
		defer cancel()
		w.loop(ctx)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.active[key] == w { // the process begins again with it, if it leads again
			delete(m.active, key)
		}
	})
}

// Approved is called with the name of a LeaderMigration whose approvals have changed.
func (m *Manager) Approved(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.active[key]; w != nil {
		w.requeue()
	}
}

// ClusterChanged is called with a cluster that is new, or whose specification, labels or
// annotations have changed.
func (m *Manager) ClusterChanged(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.active {
		w.clusterChanged(cluster)
	}
}

// Wait waits until all runs have ended, after the context that they were begun with has.
func (m *Manager) Wait() { m.ended.Wait() }

// Watch tells a Manager what changes, with informers of client-go.
type Watch struct {
	Config    *rest.Config // of Rancher's own cluster
	Namespace string       // of LeaderMigrations and approvals
	Manager   *Manager

	approvals cache.Store
	mu        sync.Mutex
	outages   map[string]*outage
	began     time.Time
	ready     atomic.Bool // everything was read once
}

// outage is since when a kind cannot be read, and its version before.
type outage struct {
	informer cache.SharedIndexInformer
	since    time.Time
	version  string
	err      error
}

// kind is one that is watched.
type kind struct {
	name      string
	resource  schema.GroupVersionResource
	namespace string                                  // "" for all
	page      int64                                   // objects of a page; 0 for as many as client-go asks for
	keep      cache.TransformFunc                     // nil for all of an object
	counts    func(*unstructured.Unstructured) string // what a change is of; nil for all
	changed   func(context.Context, types.NamespacedName, *unstructured.Unstructured)
}

// resync is after which time all objects are handled again, so that a fault of a handler does not last.
const resync = 10 * time.Hour

// pageOfLarge keeps a page of objects that can have 1.5 MiB below what an answer may have.
const pageOfLarge = 20

// Run watches until the context ends, and returns when all runs have ended.
func (w *Watch) Run(ctx context.Context) error {
	client, err := dynamic.NewForConfig(w.Config)
	if err != nil {
		return err
	}
	w.outages, w.began = map[string]*outage{}, time.Now()
	kinds := []kind{
		{v1alpha1.ApprovalKind, v1alpha1.GroupVersion.WithResource(v1alpha1.ApprovalResource), w.Namespace, pageOfLarge, nil, nil, w.approval},
		{"Cluster", schema.GroupVersionResource{Group: transform.Provisioning.Group, Version: transform.Provisioning.Version, Resource: "clusters"}, "", 0, headOnly, withoutStatus, w.cluster},
		{v1alpha1.MigrationKind, v1alpha1.GroupVersion.WithResource(v1alpha1.MigrationResource), w.Namespace, pageOfLarge, nil, nil, w.migration},
	}
	informers := lists.Map(kinds, func(k kind) cache.SharedIndexInformer { return w.informer(client, k) })
	w.approvals = informers[0].GetStore()
	w.Manager.Approvals = w.approved
	w.Manager.watched(w.live)
	defer w.Manager.watched(nil)
	defer w.Manager.Wait()
	var informing sync.WaitGroup
	defer informing.Wait()
	synced := make([]cache.InformerSynced, len(kinds))
	for i, informer := range informers {
		informing.Go(func() { informer.RunWithContext(ctx) })
		synced[i] = informer.HasSynced
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	w.ready.Store(true)
	for i, informer := range informers { // each finds what the others have read
		informer.AddEventHandler(w.handler(ctx, kinds[i])) // it fails only once the context has ended
	}
	<-ctx.Done()
	return nil
}

// informer reads and watches a kind.
func (w *Watch) informer(client dynamic.Interface, k kind) cache.SharedIndexInformer {
	i := dynamicinformer.NewFilteredDynamicInformer(client, k.resource, k.namespace, resync, nil, func(o *metav1.ListOptions) {
		if k.page > 0 {
			o.Limit = k.page
		}
		if o.ResourceVersion == "0" {
			o.ResourceVersion = "" // API servers answer it from memory, in one page
		}
	}).Informer()
	i.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { w.failed(k.name, i, err) }) // as the next one, it fails only once it runs
	i.SetTransform(k.keep)
	return i
}

// handler calls what a change of the kind is for; with nil for an object that is deleted.
func (w *Watch) handler(ctx context.Context, k kind) cache.ResourceEventHandler {
	call := func(o any, u *unstructured.Unstructured) {
		name, err := cache.DeletionHandlingObjectToName(o)
		if err == nil {
			err = transform.Guard(name.String(), func() error { k.changed(ctx, name.AsNamespacedName(), u); return nil })
		}
		if err != nil {
			w.Manager.Log(err.Error())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { call(o, o.(*unstructured.Unstructured)) }, // as all are that a dynamic client reads
		UpdateFunc: func(before, after any) {
			was, is := before.(*unstructured.Unstructured), after.(*unstructured.Unstructured)
			if k.counts == nil || k.counts(was) != k.counts(is) {
				call(is, is)
			}
		},
		DeleteFunc: func(o any) { call(o, nil) },
	}
}

// live fails while a kind cannot be read: then no change is seen, and no pause.
func (w *Watch) live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ready.Load() && time.Since(w.began) > silence {
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
func (w *Watch) failed(kind string, informer cache.SharedIndexInformer, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.outages[kind]; o == nil || o.version != informer.LastSyncResourceVersion() {
		w.outages[kind] = &outage{informer, time.Now(), informer.LastSyncResourceVersion(), err}
		w.Manager.Log(kind + " cannot be read: " + redact.Text(err.Error()))
	}
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

func (w *Watch) migration(ctx context.Context, key types.NamespacedName, u *unstructured.Unstructured) {
	var raw []byte
	if u != nil {
		raw, _ = u.MarshalJSON() // it came as JSON, with a kind
	}
	w.Manager.Changed(ctx, key, raw)
}

// approval wakes the LeaderMigration that an approval names; of one that is deleted the name is
// not known any more.
func (w *Watch) approval(_ context.Context, key types.NamespacedName, u *unstructured.Unstructured) {
	if u == nil {
		return
	}
	a, err := approvalOf(u)
	if err != nil {
		w.Manager.Log(key.String() + ": it approves nothing: " + redact.Text(err.Error()))
		return
	}
	w.Manager.Approved(types.NamespacedName{Namespace: key.Namespace, Name: a.Spec.Migration})
}

func approvalOf(u *unstructured.Unstructured) (a v1alpha1.LeaderMigrationApproval, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &a)
	return a, err
}

// withoutStatus is what changes of a cluster are of, but for those of its status alone.
func withoutStatus(u *unstructured.Unstructured) string {
	return fmt.Sprint(u.GetUID(), u.GetGeneration(), u.GetLabels(), u.GetAnnotations())
}

func (w *Watch) cluster(_ context.Context, key types.NamespacedName, _ *unstructured.Unstructured) {
	w.Manager.ClusterChanged(key)
}

// approved are the approvals that name a LeaderMigration.
func (w *Watch) approved(namespace, migration string) (list []v1alpha1.LeaderMigrationApproval) {
	for _, o := range w.approvals.List() {
		a, err := approvalOf(o.(*unstructured.Unstructured))
		if err == nil && a.Namespace == namespace && a.Spec.Migration == migration {
			list = append(list, a)
		}
	}
	return list
}
