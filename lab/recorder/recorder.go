// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package recorder reports who owned the cloud controllers, and for how long.
//
// Invariant: a timeline follows from what was seen alone – leases as they changed, processes as they
// started and ended – and never from the clock that a manager wrote into a lease.
package recorder

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// Change is a lease as it was seen right after it had changed.
type Change struct {
	At       time.Time
	Lease    string
	Holder   string
	Duration time.Duration
}

// leases are those that managers lock. kube-apiserver has some of its own.
var leases = []string{string(cluster.KCM), string(cluster.CCM), leadermigration.Lease}

// Recorder follows the leases of the managers.
type Recorder struct {
	client kubernetes.Interface
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	changes []Change
	seen    map[string]string // resource version by lease
	fault   error
}

// Start follows the leases until Stop. It has seen what is there when it returns.
func Start(ctx context.Context, client kubernetes.Interface) (*Recorder, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &Recorder{client: client, cancel: cancel, ended: make(chan struct{}), seen: map[string]string{}}
	version, err := r.list(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	go r.follow(ctx, version)
	return r, nil
}

// Stop ends the recording. It fails when some of the time was not seen.
func (r *Recorder) Stop() error {
	r.cancel()
	<-r.ended
	return r.fault
}

// Changes returns what was seen so far, in its order.
func (r *Recorder) Changes() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Change(nil), r.changes...)
}

func (r *Recorder) list(ctx context.Context) (string, error) {
	list, err := r.client.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("recorder: leases: %w", err)
	}
	for i := range list.Items {
		r.see(&list.Items[i])
	}
	return list.ResourceVersion, nil
}

// follow watches, and watches again where a watch has come to its end. While the API server is away no
// lease changes, so nothing is missed as long as we are back when it is.
func (r *Recorder) follow(ctx context.Context, version string) {
	defer close(r.ended)
	for ctx.Err() == nil {
		_ = r.watch(ctx, version)
		var err error
		if version, err = r.back(ctx); err != nil && ctx.Err() == nil {
			r.fault = err
			return
		}
	}
}

// back lists again as soon as there is an answer.
func (r *Recorder) back(ctx context.Context) (version string, err error) {
	const again = 20 * time.Millisecond
	for since := time.Now(); time.Since(since) < cluster.ReadyTimeout; time.Sleep(again) {
		if version, err = r.list(ctx); err == nil || ctx.Err() != nil {
			return version, err
		}
	}
	return version, err
}

func (r *Recorder) watch(ctx context.Context, version string) error {
	w, err := r.client.CoordinationV1().Leases(metav1.NamespaceSystem).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return fmt.Errorf("recorder: leases: %w", err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if event.Type == watch.Error || !ok {
			return fmt.Errorf("recorder: leases: %v", event.Object)
		}
		r.see(lease)
	}
	return nil
}

// see takes down a lease that has changed.
func (r *Recorder) see(l *coordinationv1.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(leases, l.Name) || r.seen[l.Name] == l.ResourceVersion {
		return
	}
	r.seen[l.Name] = l.ResourceVersion
	c := Change{At: time.Now(), Lease: l.Name}
	if l.Spec.HolderIdentity != nil {
		c.Holder = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseDurationSeconds != nil {
		c.Duration = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	r.changes = append(r.changes, c)
}
