// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
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
