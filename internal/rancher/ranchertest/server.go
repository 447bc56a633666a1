// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/internal/memnet"
)

// localRoute leads to the API server of Rancher's own cluster.
const localRoute = "/k8s/clusters/local"

// Token is the one that the server accepts.
const Token = "token-abcde:not-a-real-one"

// Server is a Rancher. Fields are changed inside of Do.
type Server struct {
	// Downstream are the API servers of clusters, by their IDs.
	Downstream map[string]http.Handler
	// Denied are rights that the user lacks: "patch clusters", "list pods of all namespaces".
	Denied map[string]bool
	// Gated means that the user may not get clusters.management.cattle.io local: Rancher
	// lets no one without that reach management.cattle.io of its own cluster.
	Gated bool
	// Warning comes with every answer to a patch that fits.
	Warning string
	// Refuse returns what is wrong with an object that a patch makes; "" for nothing.
	Refuse func(object map[string]any) string
	// Change is done to an object after a patch, as a webhook does.
	Change func(object map[string]any)
	// Webhook admits what patches make, except in a dry run; nil for none.
	Webhook *Webhook
	// Meanwhile is done once to an object, by someone else, just before a patch.
	Meanwhile func(object map[string]any)
	// Fault returns what goes wrong with a request; nil means nothing.
	Fault func(*http.Request) Fault
	// Slow waits before a request is answered; others are answered in the meantime. nil waits for nothing.
	Slow func(*http.Request)
	// Prefix is the path of the Rancher's URL.
	Prefix string
	// Requests are those that came.
	Requests []string

	objects  map[string]map[string]any // by path
	revision int
	moved    chan struct{} // closed when an object may have changed
	mu       sync.Mutex
	http     *httptest.Server

	certificate string
}

// Fault is how a request fails; the zero Fault is none.
type Fault struct {
	Status   int    // answered instead, and nothing is done
	Body     string // with that status
	Location string // with that status
	Lost     bool   // it is done, and the connection ends before the answer
}

// Fail lets the requests that a function selects fail.
func (s *Server) Fail(fault Fault, selects func(*http.Request) bool) {
	s.Do(func() {
		s.Fault = func(r *http.Request) (f Fault) {
			if selects(r) {
				f = fault
			}
			return f
		}
	})
}

// Start starts a server that ends with the test. Clients reach it through
// [memnet.Dial].
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{Downstream: map[string]http.Handler{}, Denied: map[string]bool{}, objects: map[string]map[string]any{}, moved: make(chan struct{})}
	s.http = memnet.Serve(t, s)
	s.certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw}))
	return s
}

// URL is the address of the Rancher.
func (s *Server) URL() string { return s.http.URL }

// Authority is a file with the certificate of the server.
func (s *Server) Authority(t testing.TB) string {
	t.Helper()
	return s.file(t, "cacerts.pem", s.Certificate())
}

// Certificate is that of the server, as PEM.
func (s *Server) Certificate() string { return s.certificate }

// TokenFile is a file with the token.
func (s *Server) TokenFile(t testing.TB) string {
	t.Helper()
	return s.file(t, "token", Token+"\n")
}

func (*Server) file(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Do changes the server.
func (s *Server) Do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wakeWatches()
	change()
}

// Count returns how many requests had this in their method and address.
func (s *Server) Count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.Requests {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

type answer struct {
	status  int
	body    []byte
	warning string
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Slow != nil {
		s.Slow(r)
	}
	s.mu.Lock()
	s.Requests = append(s.Requests, r.Method+" "+r.URL.String())
	path, below := strings.CutPrefix(r.URL.Path, s.Prefix)
	if !below {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	r.URL.Path = path
	var f Fault
	if s.Fault != nil {
		f = s.Fault(r)
	}
	lets := func() bool { return !s.Gated }
	if f.Status == 0 && !f.Lost && Door(w, r, s.Certificate(), s.authorized(r), lets) {
		s.mu.Unlock()
		return
	}
	if f.Status != 0 {
		s.mu.Unlock()
		if f.Location != "" {
			w.Header().Set("Location", f.Location)
		}
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
		return
	}
	rest, proxied := strings.CutPrefix(r.URL.Path, "/k8s/clusters/")
	if id, path, _ := strings.Cut(rest, "/"); proxied && s.authorized(r) && s.Downstream[id] != nil && !strings.HasSuffix(path, "/selfsubjectaccessreviews") {
		s.mu.Unlock()
		http.StripPrefix("/k8s/clusters/"+id, s.Downstream[id]).ServeHTTP(w, r)
		return
	}
	if list := watched(r); list != "" && s.authorized(r) {
		s.mu.Unlock()
		s.watch(w, r, list)
		return
	}
	a := s.answer(r)
	if r.Method != http.MethodGet {
		s.wakeWatches()
	}
	s.mu.Unlock()
	if f.Lost {
		panic(http.ErrAbortHandler)
	}
	a.write(w)
}

func (a answer) write(w http.ResponseWriter) {
	if a.body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.warning != "" {
		w.Header().Add("Warning", `299 - "`+a.warning+`"`)
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

func (s *Server) authorized(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer "+Token
}

// answer answers a request that nothing goes wrong with.
func (s *Server) answer(r *http.Request) answer {
	path, local := strings.CutPrefix(r.URL.Path, localRoute)
	switch {
	case !s.authorized(r):
		return status(http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		return s.review(r)
	case local && path == "/version":
		return asJSON(http.StatusOK, map[string]any{"major": "1", "minor": "27"})
	case !local:
		return status(http.StatusNotFound, "NotFound", "there is no such cluster")
	case r.Method == http.MethodPatch && strings.HasSuffix(path, "/status"):
		return s.patchStatus(r, strings.TrimSuffix(path, "/status"))
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != "application/apply-patch+yaml":
		return s.patch(r, path)
	case r.Method == http.MethodGet:
		return s.read(r, path)
	}
	return s.write(r, path)
}

func asJSON(code int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{status: http.StatusInternalServerError, body: []byte(err.Error())}
	}
	return answer{status: code, body: body}
}

func status(code int, reason, message string) answer {
	return asJSON(code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code})
}

// Drop ends the connections of clients.
func (s *Server) Drop() { s.http.CloseClientConnections() }
