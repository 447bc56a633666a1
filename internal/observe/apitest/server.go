// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/memnet"
)

// Server is an API server. Fields are changed inside of Do.
type Server struct {
	Version     string // of the API server; "" for one of 1.26
	Nodes       []corev1.Node
	Leases      []coordinationv1.Lease
	Pods        []corev1.Pod
	DaemonSets  []appsv1.DaemonSet
	Deployments []appsv1.Deployment
	Services    []corev1.Service
	Events      []corev1.Event
	Volumes     []corev1.PersistentVolume
	Classes     []storagev1.StorageClass
	CSINodes    []storagev1.CSINode
	Secrets     []corev1.Secret
	ConfigMaps  map[string]corev1.ConfigMap // by their names in kube-system, others with their namespace, as in team/lm
	// ControlPlanes and Machines are the JSON of Rancher's lists; without it there is
	// none.
	ControlPlanes, Machines string
	// Clusters is the JSON of the clusters that Rancher provisions.
	Clusters string
	// Renews are the leases whose holders are alive.
	Renews map[string]bool
	// Denied are users that may not lock the migration lease.
	Denied map[string]bool
	// Fault returns what goes wrong with a request; nil means nothing.
	Fault func(*http.Request) Fault
	// Reviews are the rights that were asked about.
	Reviews []authorizationv1.SubjectAccessReviewSpec
	// Requests are those that came.
	Requests []*http.Request

	mu       sync.Mutex
	http     *http.Server
	listener *memnet.Listener
	names    *names // of its certificates; nil without TLS
}

// Fault is how a request fails; the zero Fault is none.
type Fault struct {
	Status     int           // answered instead
	RetryAfter string        // with that status
	Body       string        // with that status
	Cut        bool          // the connection ends in the middle of the answer
	Reset      bool          // the connection is reset without an answer
	Hang       time.Duration // before the answer
	Stall      time.Duration // in the middle of the answer
}

// Start starts a server that ends with the test. Clients reach it through
// [memnet.Dial].
func Start(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	s.serve()
	t.Cleanup(s.Down)
	return s
}

func newServer() *Server {
	return &Server{Renews: map[string]bool{}, Denied: map[string]bool{}, ConfigMaps: map[string]corev1.ConfigMap{}, listener: memnet.Listen()}
}

// Do changes the server.
func (s *Server) Do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// URL is the address of the server.
func (s *Server) URL() string {
	if s.names != nil {
		return "https://" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String()
}

// Kubeconfig writes a configuration that leads to the server, and returns its
// file.
func (s *Server) Kubeconfig(t testing.TB) string {
	t.Helper()
	return s.KubeconfigOf(t, "{token: a-token-for-tests}")
}

// KubeconfigOf writes one with the credentials of a user, in YAML.
func (s *Server) KubeconfigOf(t testing.TB, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: orchard, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: viewer, user: %s}]
contexts: [{name: orchard, context: {cluster: orchard, user: viewer}}]
current-context: orchard
`, s.URL(), s.names.authority(), user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Count returns how many requests had a path with this in it.
func (s *Server) Count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.Requests {
		if strings.Contains(r.URL.String(), part) {
			n++
		}
	}
	return n
}

// Forget forgets the requests that came.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Requests = nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.Requests = append(s.Requests, r)
	var f Fault
	if s.Fault != nil {
		f = s.Fault(r)
	}
	a := s.answer(r)
	s.mu.Unlock()
	wait(r, f.Hang)
	switch {
	case f.Reset:
		reset(w)
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
	case f.Cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
		w.Write(a.body[:len(a.body)/2]) // the server closes a connection that got too little
	case f.Stall > 0:
		w.Write(a.body[:len(a.body)/2])
		http.NewResponseController(w).Flush()
		wait(r, f.Stall)
		w.Write(a.body[len(a.body)/2:])
	default:
		w.Header().Set("Content-Type", a.contentType)
		w.WriteHeader(a.status)
		w.Write(a.body)
	}
}

// objects answers what is no list.
func (s *Server) objects(r *http.Request) answer {
	space, name, isConfigMap := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/configmaps")
	switch {
	case r.URL.Path == "/version":
		return asJSON(http.StatusOK, map[string]string{"major": "1", "minor": "26", "gitVersion": cmp.Or(s.Version, "v1.26.15+rke2r1")})
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		return s.review(r)
	case isConfigMap && r.Method == http.MethodPost:
		return s.create(r)
	case isConfigMap:
		if m, there := s.ConfigMaps[strings.TrimPrefix(space+name, "kube-system/")]; there {
			return asProtobuf("ConfigMap", &m)
		}
	case r.URL.Path == "/apis/rke.cattle.io/v1" && s.ControlPlanes != "":
		return asJSON(http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "rke.cattle.io/v1", "resources": []any{}})
	case strings.HasSuffix(r.URL.Path, "/rkecontrolplanes") && s.ControlPlanes != "":
		return answer{http.StatusOK, "application/json", []byte(s.ControlPlanes)}
	case strings.HasSuffix(r.URL.Path, "/provisioning.cattle.io/v1/clusters") && s.Clusters != "":
		return answer{http.StatusOK, "application/json", []byte(s.Clusters)}
	}
	return s.ofRancher(r)
}

func (s *Server) review(r *http.Request) answer {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return refusal(http.StatusBadRequest, err.Error())
	}
	s.Reviews = append(s.Reviews, review.Spec)
	review.Status.Allowed = !s.Denied[review.Spec.User]
	return asProtobuf("SubjectAccessReview", &review)
}

func (s *Server) create(r *http.Request) answer {
	var m corev1.ConfigMap
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return refusal(http.StatusBadRequest, err.Error())
	}
	if _, there := s.ConfigMaps[m.Name]; there {
		return asJSON(http.StatusConflict, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonAlreadyExists, Code: http.StatusConflict})
	}
	s.ConfigMaps[m.Name] = m
	return asProtobuf("ConfigMap", &m)
}

func refusal(code int, message string) answer {
	return asJSON(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: message, Code: int32(code)})
}
