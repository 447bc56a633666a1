// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller migrates the clusters that LeaderMigrations select.
//
// Invariant: a process changes nothing unless it leads. Each cluster has a run of its own,
// the same as that of one cluster; what starts, and when, is decided by package transition. Only
// the status of a LeaderMigration remembers anything, so another process continues from it.
package controller

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/cert"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// Process is a controller of several, of which the one that holds the lease is active.
type Process struct {
	Manager   *Manager
	Namespace string        // of the LeaderMigrations, and of the lease
	Host      string        // a name for the process
	Lease     time.Duration // after which another one is active if it is not renewed
	Address   string        // of probes and metrics; "" for none
}

// Run runs it until it is interrupted.
func (p Process) Run(ctx context.Context, server *rancher.Server) error {
	if _, err := server.Downstream("local"); err != nil {
		return err
	}
	m := p.Manager
	config := server.Local().Config(20) // requests per second: of the watches, and of the lease
	metrics, show := NewMetrics(m), m.Show
	m.Client = server.Local()
	m.Show = func(migration string, of migrate.Member, e migrate.Event) {
		metrics.Observe(migration, of, e)
		show(migration, of, e)
	}
	reviews, err := kubernetes.NewForConfig(config) // with a rate of its own: requests of others must not delay the lease
	lease, failed := kubernetes.NewForConfig(config)
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	e := Election{Client: lease, Namespace: p.Namespace, Identity: p.Host + "_" + uuid.NewString(), Duration: p.Lease, Health: leaderelection.NewLeaderHealthzAdaptor(p.Lease)}
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
	Client              kubernetes.Interface
	Namespace, Identity string
	Duration            time.Duration                  // for which a lease lasts that is not renewed
	Health              *leaderelection.HealthzAdaptor // fails where this process leads and cannot renew the lease
}

// Lead calls work whenever this process leads, with a context that ends when it does no longer,
// until the context ends or work fails. It returns after work has.
//
// Wrangler's pkg/leader ends the process when it loses the lease, and so in the middle of a
// run, with nodes cordoned and the cluster locked.
func (e Election) Lead(ctx context.Context, work func(context.Context) error) error {
	for ctx.Err() == nil {
		if err := e.term(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

// term is one attempt to lead, and what this process does while it leads.
func (e Election) term(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began, ended := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock{&resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: LeaseName}, Client: e.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		}},
		LeaseDuration: e.Duration, RenewDeadline: e.Duration * 2 / 3, RetryPeriod: e.Duration * 2 / 15, ReleaseOnCancel: true, Name: LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { began <- ctx }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	e.Health.SetLeaderElection(elector)
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	select {
	case leading := <-began:
		if err = work(leading); err != nil {
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

// Metrics are what Prometheus reads of this process. Counters start with it; what clusters
// there are, and how far they are, is read from the LeaderMigrations.
type Metrics struct {
	registry *prometheus.Registry
	active   prometheus.Gauge
	gaps     *prometheus.HistogramVec
	two      *prometheus.CounterVec
	failures *prometheus.CounterVec
}

// NewMetrics makes the metrics of a manager.
func NewMetrics(m *Manager) *Metrics {
	made := &Metrics{
		registry: prometheus.NewRegistry(),
		active:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "rke_lm_active", Help: "1 if this process holds the lease and migrates clusters."}),
		gaps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rke_lm_no_owner_seconds", Help: "Seconds in which no manager ran the cloud controllers of a cluster, for each stage.",
			Buckets: []float64{1, 5, 10, 15, 20, 30, 45, 60, 90, 120, 300}, // a gap is expected to have 17 to 43 (docs/background.md)
		}, []string{"stage"}),
		two: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rke_lm_two_owners_seconds_total", Help: "Seconds in which two managers ran the cloud controllers of a cluster. It must stay 0.",
		}, []string{"cluster"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rke_lm_failures_total", Help: "Clusters whose migration failed."}, []string{"migration"}),
	}
	made.registry.MustRegister(made.active, made.gaps, made.two, made.failures, prometheus.CollectorFunc(m.collect))
	return made
}

// Active sets whether this process is the one that migrates clusters.
func (m *Metrics) Active(is bool) {
	m.active.Set(0)
	if is {
		m.active.Set(1)
	}
}

// Observe takes a cluster that has changed, and the event that changed it.
func (m *Metrics) Observe(migration string, of migrate.Member, e migrate.Event) {
	switch {
	case e.Type == migrate.Watched:
		m.gaps.WithLabelValues(e.Stage).Observe(e.Owners.None)
		m.two.WithLabelValues(of.Cluster).Add(e.Owners.Two)
	case e.Type == "" && of.State == transition.Failed:
		m.failures.WithLabelValues(migration).Inc()
	}
}

// Handler answers Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

var clustersMetric = prometheus.NewDesc("rke_lm_clusters", "Clusters of a LeaderMigration, by their state, and by the stage in progress or the last one.", []string{"migration", "state", "stage"}, nil)

// collect counts the clusters of all LeaderMigrations.
func (m *Manager) collect(to chan<- prometheus.Metric) {
	counts := map[[3]string]float64{}
	m.mu.Lock()
	for key, w := range m.active {
		w.mu.Lock()
		for _, of := range w.members {
			counts[[3]string{key.String(), string(of.State), of.Stage}]++
		}
		w.mu.Unlock()
	}
	m.mu.Unlock()
	for labels, n := range counts {
		to <- prometheus.MustNewConstMetric(clustersMetric, prometheus.GaugeValue, n, labels[:]...)
	}
}

// Readers lets only users read Next who have permission to get its path, by the API server's own reviews of their
// token and of their permissions.
type Readers struct {
	Client kubernetes.Interface
	Next   http.Handler
}

func (s *Readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	code := http.StatusUnauthorized
	if is {
		code = s.review(r, token)
	}
	if code == http.StatusOK {
		s.Next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, http.StatusText(code), code)
}

// review is the status of an answer to the user with a token.
func (s *Readers) review(r *http.Request, token string) int {
	who, err := s.Client.AuthenticationV1().TokenReviews().Create(r.Context(), &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable
	case !who.Status.Authenticated:
		return http.StatusUnauthorized
	}
	u, extra := who.Status.User, map[string]authorization.ExtraValue{}
	for key, values := range u.Extra {
		extra[key] = authorization.ExtraValue(values)
	}
	access, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra, NonResourceAttributes: &authorization.NonResourceAttributes{Path: r.URL.Path, Verb: "get"},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable
	case !access.Status.Allowed:
		return http.StatusForbidden
	}
	return http.StatusOK
}
