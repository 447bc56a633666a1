// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/plan"
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
		defer m.forget(key, w)
		defer cancel()
		w.loop(ctx)
	})
}

// forget lets the process begin again with a LeaderMigration, if it leads again.
func (m *Manager) forget(key types.NamespacedName, w *work) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active[key] == w {
		delete(m.active, key)
	}
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
