// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
)

// World is a Rancher with one cluster. Fields are changed before a run begins, or by
// what the run calls.
type World struct {
	Rancher *ranchertest.Server
	API     *apitest.Server // of the cluster
	URL     string          // of the Rancher, which leads to the cluster as well

	Format transform.Format
	Name   string // of the cluster, as a user names it
	Path   string // of the cluster's object
	Lock   string // path of the lease that a run holds
	Follow func() // lets Rancher and the machines follow the object, as they do after every patch
	Helm   string // the file in which helm says how it was called, where one is recorded

	Balance bool // Services get load balancers

	Gap  time.Duration // until the cloud-controller-manager leads again after the last edit
	Led  atomic.Bool   // it leads again
	left sync.Once

	// Around is called before a request and after it, before its answer; nil for nothing.
	Around func(*http.Request)

	t        testing.TB
	cluster  string // name of the object, for RKE2
	id       string // of that cluster
	mu       sync.Mutex
	stuck    bool              // machines get no new plans
	two      bool              // both managers have run the cloud controllers at once
	writes   []string          // that came
	objects  map[string]string // of the cluster, by their paths: those that were applied
	budget   int               // evictions that are refused at first
	past126  bool              // no manager is in-tree, and a machine joined since
	replaced bool              // that machine is gone
	output   string            // by helm, when its managers were run
	lastName string            // of its Node
	lastID   string            // the provider ID by which Rancher looks for the Node of the last machine, past 1.26
}

// start makes a world whose cluster has an ID, and no object yet.
func start(t testing.TB, id string) *World {
	t.Helper()
	w := ofRancher(t, ranchertest.Start(t), id)
	w.URL = memnet.Serve(t, w).URL
	return w
}

// ofRancher makes one whose cluster a Rancher has.
func ofRancher(t testing.TB, r *ranchertest.Server, id string) *World {
	t.Helper()
	w := &World{t: t, Balance: true, Rancher: r, API: apitest.Start(t), objects: map[string]string{}}
	w.Rancher.Downstream[id] = http.HandlerFunc(w.downstream)
	w.API.Fill(3)
	w.API.Leases, w.API.Renews = nil, map[string]bool{}
	for i := range w.API.Nodes {
		w.API.Nodes[i].ResourceVersion, w.API.Nodes[i].UID = "1", "u-node"
	}
	return w
}

// Stick keeps the machines from following the object, or lets them do so again.
func (w *World) Stick(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = is
}

// Writes lists the writes that came, but for those of locks and Events.
func (w *World) Writes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}

// Forget forgets the writes that came.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = nil
}

// Patches counts the changes of the cluster's object.
func (w *World) Patches() int {
	count := 0
	for _, line := range w.Writes() {
		if strings.HasPrefix(line, "PATCH") && strings.HasSuffix(line, w.Path) {
			count++
		}
	}
	return count
}

// Spec is the cluster's own part of its object.
func (w *World) Spec(t testing.TB) string {
	t.Helper()
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal([]byte(w.Rancher.Object(w.Path)), &o); err != nil {
		t.Fatal(err)
	}
	return string(o.Spec)
}

// ServeHTTP is Rancher.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.around(r)
	w.count(r)
	w.released()
	answer := httptest.NewRecorder()
	w.Rancher.ServeHTTP(answer, r)
	if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, w.Path) {
		w.Follow()
	}
	if r.Method == http.MethodPatch && (strings.Contains(r.URL.Path, "/nodes/") || strings.Contains(r.URL.Path, "/amazonec2machines/")) {
		w.Notice()
	}
	w.around(r)
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	rw.Write(answer.Body.Bytes())
}

func (w *World) around(r *http.Request) {
	if w.Around != nil {
		w.Around(r)
	}
}

// count counts a write.
func (w *World) count(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method != http.MethodGet && !slices.ContainsFunc([]string{"accessreviews", "/leases", "/events"}, func(part string) bool { return strings.Contains(r.URL.Path, part) }) {
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
	}
}
