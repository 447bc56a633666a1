// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller migrates the clusters that LeaderMigrations select.
//
// Invariant: a process changes nothing unless it leads. Each cluster has a run of its own,
// the same as that of one cluster; what starts, and when, is decided by package transition. Only
// the status of a LeaderMigration remembers anything, so another process continues from it.
package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/cert"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
)

// Process is a controller of several, of which the one that holds the lease is active.
type Process struct {
	Manager   *Manager
	Namespace string        // of the LeaderMigrations, and of the lease
	Host      string        // a name for the process
	Lease     time.Duration // after which another one is active if it is not renewed
	Address   string        // of probes and metrics; "" for none
}

// watchRate is how many requests per second the watches and the lease make at most.
const watchRate = 20

// Run runs it until it is interrupted.
func (p Process) Run(ctx context.Context, server *rancher.Server) error {
	if _, err := server.Downstream("local"); err != nil {
		return err
	}
	m := p.Manager
	config := server.Local().Config(watchRate)
	metrics, show := NewMetrics(m), m.Show
	m.Client = server.Local()
	m.Show = func(migration string, of migrate.Member, e migrate.Event) {
		metrics.Observe(migration, of, e)
		show(migration, of, e)
	}
	reviews, err := kubernetes.NewForConfig(config) // with a rate of its own: requests of others must not delay the lease
	if err != nil {
		return err
	}
	e := Election{Config: config, Namespace: p.Namespace, Identity: p.Host + "_" + uuid.NewString(), Duration: p.Lease, Health: leaderelection.NewLeaderHealthzAdaptor(p.Lease)}
	healthy := func(r *http.Request) error { return errors.Join(e.Health.Check(r), m.Live()) }
	if p.Address != "" {
		served, err := serveHTTPS(p.Address, probes(&Readers{Client: reviews, Next: metrics.Handler()}, healthy), m.Log)
		if err != nil {
			return err
		}
		defer served.Close() // what is under way ends with the process
	}
	m.Log("waiting for the lease " + p.Namespace + "/" + LeaseName)
	return e.Lead(ctx, func(ctx context.Context) error {
		m.Log("active as " + e.Identity)
		metrics.Active(true)
		defer metrics.Active(false)
		defer m.Log("not active")
		return (&Watch{Config: config, Namespace: p.Namespace, Manager: m}).Run(ctx)
	})
}

// probes answers the probes of the kubelet, and Prometheus. healthy fails when the process must be
// restarted.
func probes(metrics http.Handler, healthy func(*http.Request) error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := healthy(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// serveHTTPS listens on an address until it is closed. Its certificate is its own and new: it keeps
// the tokens of readers from others, and proves nothing.
func serveHTTPS(address string, h http.Handler, note func(string)) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address %s: %w", address, err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("rke-lm", nil, nil)
	pair, failed := tls.X509KeyPair(certificate, key)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		if err := s.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			note("/metrics: " + err.Error())
		}
	}()
	note("serving /metrics, /healthz and /readyz on " + listener.Addr().String())
	return s, nil
}

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
