// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// Metrics are what Prometheus reads of this process. Counters start with it; what clusters
// there are, and how far they are, is read from the LeaderMigrations.
type Metrics struct {
	registry *prometheus.Registry
	active   prometheus.Gauge
	gaps     *prometheus.HistogramVec
	two      *prometheus.CounterVec
	failures *prometheus.CounterVec
}

// gapBuckets are in seconds: a gap is expected to have 17 to 43 (docs/background.md).
var gapBuckets = []float64{1, 5, 10, 15, 20, 30, 45, 60, 90, 120, 300}

// NewMetrics makes the metrics of a manager.
func NewMetrics(m *Manager) *Metrics {
	made := &Metrics{
		registry: prometheus.NewRegistry(),
		active:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "rke_lm_active", Help: "1 if this process holds the lease and migrates clusters."}),
		gaps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rke_lm_no_owner_seconds", Help: "Seconds in which no manager ran the cloud controllers of a cluster, for each stage.", Buckets: gapBuckets,
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
