// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the name of the lease of the process that leads.
const LeaseName = "rke-lm-controller"

// Election is how the processes find the one that leads.
type Election struct {
	Config              *rest.Config
	Namespace, Identity string
	Duration            time.Duration // for which a lease lasts that is not renewed
	// Health fails where this process leads and cannot renew the lease; nil for none.
	Health *leaderelection.HealthzAdaptor
}

// Lead calls work whenever this process leads, with a context that ends when it does no longer,
// until the context ends or work fails. It returns after work has.
//
// Wrangler's pkg/leader ends the process when it loses the lease, and so in the middle of a
// run, with nodes cordoned and the cluster locked.
func (e Election) Lead(ctx context.Context, work func(context.Context) error) error {
	client, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := e.term(ctx, client, work); err != nil {
			return err
		}
	}
	return nil
}

// term is one attempt to lead, and what this process does while it leads.
func (e Election) term(ctx context.Context, client kubernetes.Interface, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began, ended := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock{&resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: LeaseName}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		}},
		LeaseDuration: e.Duration, RenewDeadline: e.Duration * 2 / 3, RetryPeriod: e.Duration * 2 / 15, ReleaseOnCancel: true, Name: LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { began <- ctx }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	if e.Health != nil {
		e.Health.SetLeaderElection(elector)
	}
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	select {
	case leading := <-began:
		err = work(leading)
		if err != nil {
			stop() // else it would lead, and do nothing
		}
	case <-ended:
	}
	<-ended
	return err
}

// lock is a lease whose holder may conflict with itself: a renewal that was cancelled can arrive while the lease is
// released, which others would then wait for (client-go tools/leaderelection, LeaderElector.release).
type lock struct{ *resourcelock.LeaseLock }

func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Update(ctx, record)
	if !apierrors.IsConflict(err) {
		return err
	}
	if now, _, failed := l.Get(ctx); failed != nil || now.HolderIdentity != l.Identity() {
		return err
	}
	return l.LeaseLock.Update(ctx, record)
}
