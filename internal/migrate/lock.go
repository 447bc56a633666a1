// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// lockTime is for how long a lock lives after it was last renewed; it is renewed five
// times in that.
const lockTime = 15 * time.Second

// Locked means that another run holds the lock of a cluster.
type Locked struct{ Cluster, Lease, Holder string }

func (h *Locked) Error() string {
	return fmt.Sprintf("%s: another run is in progress: %s holds the lease %s; wait until it ends, or stop it, and run the command again", h.Cluster, redact.Text(h.Holder), h.Lease)
}

// ExitCode is that of a refusal.
func (h *Locked) ExitCode() transform.ExitCode { return transform.ExitRefused }

// lock is a Lease in the namespace of a cluster's object. Renewals are updates of
// the version that was read, so two holders never both succeed.
type lock struct {
	client   *kube.Client
	title    string // of the cluster
	identity string

	// mutex guards what follows. Requests are made while it is locked, so that waiting
	// for it has to end with a context.
	mutex chan struct{}
	lease *coordinationv1.Lease // as the server had it last
	helm  string                // the record of a helm that was started and is not known to have ended
	stop  context.CancelFunc
	ended sync.WaitGroup
}

func newLock(c *kube.Client, o rancher.Object, identity string) *lock {
	l := &lock{mutex: make(chan struct{}, 1), client: c, title: o.Title(), identity: identity}
	l.lease = &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Home(), Name: "rke-lm-" + o.Name},
	}
	return l
}

// path is that of a lease, or of all leases of the namespace for "".
func (l *lock) path(name string) string {
	return kube.Path("coordination.k8s.io/v1", "leases", l.lease.Namespace, name)
}

// acquire acquires the lock. It fails with *Locked where another run renews it meanwhile.
// A lease that is not renewed for its duration is taken over.
func (l *lock) acquire(ctx context.Context, note func(string)) error {
	since, seen := time.Now(), ""
	for {
		found, err := l.get(ctx)
		if l.helm = ""; found != nil {
			l.helm = found.Annotations[helmAnnotation]
		}
		free := found == nil || holder(found) == "" || holder(found) == l.identity
		switch {
		case err != nil:
			return err
		case free:
		case seen != "" && found.ResourceVersion != seen:
			return &Locked{l.title, found.Namespace + "/" + found.Name, holder(found)}
		case seen == "":
			since = time.Now() // a slow answer says nothing of the time before it
			note("the lease " + found.Name + " has a holder, " + redact.Text(holder(found)) + "; waiting to see whether it is alive")
		case time.Since(since) >= duration(found):
			note("its holder has not renewed it for " + duration(found).String() + " and is considered dead")
			free = true
		}
		if free {
			if err := l.update(ctx, found); err == nil || !kube.HasStatus(err, http.StatusConflict) {
				return err
			}
			continue // another run was faster; the next observation shows which
		}
		seen = found.ResourceVersion
		if !kube.Pause(ctx, lockTime/15) {
			return context.Cause(ctx)
		}
	}
}

// locked does something while it has the mutex, or fails with why the context ended.
func (l *lock) locked(ctx context.Context, do func() error) error {
	select {
	case l.mutex <- struct{}{}:
		defer func() { <-l.mutex }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func holder(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

func duration(l *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, int32(lockTime/time.Second))) * time.Second
}

// get reads the lease; nil where there is none.
func (l *lock) get(ctx context.Context) (*coordinationv1.Lease, error) {
	r := kube.Request{What: "get leases.coordination.k8s.io", Method: http.MethodGet, Path: l.path(l.lease.Name)}
	found, err := kube.Get[coordinationv1.Lease](ctx, l.client, r, "Lease")
	return kube.Found(found, kube.Refusal(err))
}

// update writes the lock with a new time, over the lease that was found. One whose answer
// did not arrive can have been written, and would stay without a run.
func (l *lock) update(ctx context.Context, found *coordinationv1.Lease) error {
	return l.locked(ctx, func() error {
		l.lease.ObjectMeta = metav1.ObjectMeta{Namespace: l.lease.Namespace, Name: l.lease.Name}
		if found != nil {
			l.lease.ObjectMeta = found.ObjectMeta
		}
		err := l.write(ctx, l.identity)
		if outcome(err) == resultUnknown {
			l.lease.ResourceVersion = "" // it is not known which one is there
			_ = cleanUp(ctx, l.drop)     // what this cannot delete ends by itself
		}
		return err
	})
}

// write writes the lease over the version that was seen last.
func (l *lock) write(ctx context.Context, holder string) error {
	next, method, path := *l.lease, http.MethodPost, l.path("")
	if next.ResourceVersion != "" {
		method, path = http.MethodPut, l.path(next.Name)
	}
	seconds, now := int32(lockTime/time.Second), metav1.NewMicroTime(time.Now())
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &holder, &seconds, &now
	if next.Spec.AcquireTime == nil {
		next.Spec.AcquireTime = &now
	}
	if delete(next.Annotations, helmAnnotation); l.helm != "" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, helmAnnotation, l.helm)
	}
	r := kube.Request{What: "update leases.coordination.k8s.io", Method: method, Path: path, Body: next}
	written, err := kube.Get[coordinationv1.Lease](ctx, l.client, r, "Lease")
	if err != nil {
		return err
	}
	next.ObjectMeta = written.ObjectMeta
	l.lease = &next
	return nil
}

// confirm renews the lock, which proves that it is still ours.
func (l *lock) confirm(ctx context.Context) error {
	return l.locked(ctx, func() error {
		return l.ours(ctx, func() error { return l.write(ctx, l.identity) })
	})
}

// lockTries is how often the lease is read again. Of the requests of a run whose answers did not
// arrive, one can still be written after each.
const lockTries = 5

// ours makes a request about the version of the lease that was seen last. That another one is
// there now shows nothing of who wrote it: it can be a renewal of this run whose answer was not
// awaited. So the lease is read again, and as long as this run holds it, the request is made
// again. It fails with *Locked where it does not.
func (l *lock) ours(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !kube.HasStatus(err, http.StatusConflict, http.StatusNotFound) || try == lockTries {
			return kube.Refusal(err)
		}
		found, err := l.get(ctx)
		if err != nil {
			return err
		}
		if found == nil {
			return &Locked{l.title, l.lease.Namespace + "/" + l.lease.Name, "no holder (the lease was deleted)"}
		}
		if holder(found) != l.identity {
			return &Locked{l.title, found.Namespace + "/" + found.Name, holder(found)}
		}
		l.lease.ObjectMeta = found.ObjectMeta
	}
}

// renew renews the lock until it is released, and calls lost when another run has
// it. What the network does meanwhile is for the next write to find out.
func (l *lock) renew(ctx context.Context, lost func(error)) {
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.ended.Go(func() {
		for kube.Pause(ctx, lockTime/5) {
			if err := l.confirm(ctx); errors.As(err, new(*Locked)) {
				lost(err)
				return
			}
		}
	})
}

// release releases the lock.
func (l *lock) release(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
		l.ended.Wait()
	}
	return l.locked(ctx, func() error { return l.drop(ctx) })
}

// drop deletes the lease, unless it is gone or another run holds it. What it says of a helm
// stays, in a lease without a holder: the next run needs it.
func (l *lock) drop(ctx context.Context) error {
	err := l.ours(ctx, func() error {
		if l.helm != "" {
			return l.write(ctx, "")
		}
		seen := metav1.DeleteOptions{ // the version that was seen last, and no other
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: &metav1.Preconditions{UID: &l.lease.UID, ResourceVersion: &l.lease.ResourceVersion},
		}
		_, err := l.client.Do(ctx, kube.Request{What: "delete leases.coordination.k8s.io", Method: http.MethodDelete, Path: l.path(l.lease.Name), Body: seen})
		return err
	})
	if errors.As(err, new(*Locked)) {
		return nil
	}
	return err
}
