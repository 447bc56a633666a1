// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	evanphx "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// world is a Rancher with one cluster of RKE2, whose machines follow its object at
// once: their plans, their managers, and the leases.
type world struct {
	rancher *ranchertest.Server
	api     *apitest.Server
	server  *httptest.Server

	path   string // of the cluster's object
	follow func() // lets Rancher and the machines follow it
	distro transform.Distro
	helm   string // file in which helm says how it was called

	mu      sync.Mutex
	stuck   bool            // machines get no new plans
	gap     time.Duration   // until the cloud-controller-manager leads again after the last edit
	leaves  sync.Once       // the gap begins
	led     atomic.Bool     // a manager leads after it
	dead    map[string]bool // user agents whose process was killed
	writes  []string        // that came
	killAt  int             // number of the write at which its process is killed; 0 for none
	after   bool            // behind the write, and not before it
	killed  chan struct{}
	ended   chan struct{}
	end     func()            // lets requests go that nobody answers
	objects map[string]string // of the cluster, by their paths: those that were applied
}

func bareWorld(t *testing.T, id string) *world {
	t.Helper()
	w := &world{rancher: ranchertest.Start(t), api: apitest.Start(t), dead: map[string]bool{}, killed: make(chan struct{}, 1), ended: make(chan struct{}), objects: map[string]string{}}
	w.rancher.Downstream[id] = http.HandlerFunc(w.downstream)
	w.api.Fill(3)
	w.api.Leases, w.api.Renews = nil, map[string]bool{}
	for i := range w.api.Nodes {
		w.api.Nodes[i].ResourceVersion, w.api.Nodes[i].UID = "1", "u-node"
	}
	w.server = memnet.Serve(t, w)
	w.end = sync.OnceFunc(func() { close(w.ended) })
	t.Cleanup(w.end)
	return w
}

// ServeHTTP kills the process whose turn it is: it never gets an answer again.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	agent := r.UserAgent()
	w.mu.Lock()
	writes := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "accessreviews") && !strings.Contains(r.URL.Path, "/leases") && !strings.Contains(r.URL.Path, "/events")
	if writes && !w.dead[agent] {
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
	}
	now := writes && w.killAt > 0 && len(w.writes) == w.killAt && !w.dead[agent]
	dead := w.dead[agent] || now && !w.after
	w.dead[agent] = w.dead[agent] || now
	w.mu.Unlock()
	if w.helm != "" {
		w.mu.Lock()
		w.engineLocked()
		w.mu.Unlock()
	}
	if !dead {
		answer := httptest.NewRecorder()
		w.rancher.ServeHTTP(answer, r)
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, w.path) {
			w.follow()
		}
		if !now {
			for key, values := range answer.Header() {
				rw.Header()[key] = values
			}
			rw.WriteHeader(answer.Code)
			rw.Write(answer.Body.Bytes())
			return
		}
	}
	if now {
		w.killed <- struct{}{}
	}
	select {
	case <-w.ended:
	case <-r.Context().Done():
	}
}

// lead gives the leases to those that take them.
func (w *world) lead(inTree, migrates, installed, joins bool) {
	const migration = "cloud-provider-extraction-migration"
	kube, cloud := apitest.NodeName(0)+"_8f0e", apitest.NodeName(1)+"_b63d"
	w.hold("kube-controller-manager", kube)
	switch {
	case installed && !inTree && !joins && w.gap > 0:
		w.gone(cloud)
	case installed:
		w.hold("cloud-controller-manager", cloud)
	}
	switch {
	case !inTree && joins:
		w.hold(migration, cloud)
	case inTree && migrates && !(joins && w.holder(migration) == cloud):
		w.hold(migration, kube)
	case !joins:
		w.api.Do(func() { delete(w.api.Renews, migration) })
	}
}

// hold lets somebody hold a lease.
func (w *world) hold(lease, holder string) { w.api.Do(func() { w.api.Hold(lease, holder) }) }

func (w *world) holder(lease string) (name string) {
	w.api.Do(func() {
		for _, l := range w.api.Leases {
			if l.Name == lease {
				name = *l.Spec.HolderIdentity
			}
		}
	})
	return name
}

// pods makes the managers' pods: none of a component without arguments.
func (w *world) pods(kube, cloud []string, tag string) {
	fresh := &apitest.Server{Renews: map[string]bool{}}
	fresh.Fill(3)
	w.api.Pods, w.api.DaemonSets = nil, nil
	image := "registry.k8s.io/provider-aws/cloud-controller-manager:" + tag
	for _, p := range fresh.Pods {
		c := &p.Spec.Containers[0]
		if c.Name == "kube-controller-manager" {
			c.Args = kube
		} else {
			c.Args, c.Image = cloud, image
		}
		if len(c.Args) > 0 {
			w.api.Pods = append(w.api.Pods, p)
		}
	}
	if len(cloud) > 0 {
		d := fresh.DaemonSets[0]
		c := &d.Spec.Template.Spec.Containers[0]
		c.Args, c.Image = cloud, image
		w.api.DaemonSets = []appsv1.DaemonSet{d}
	}
}

func textsOf(list []args.Arg) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Text)
	}
	return out
}

// downstream is the API server of the cluster: Nodes can be read and patched one by
// one, and objects be applied, looked for and deleted.
func (w *world) downstream(rw http.ResponseWriter, r *http.Request) {
	name, node := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	switch {
	case node:
		w.api.Do(func() { w.node(rw, r, name) })
	case strings.HasSuffix(r.URL.Path, "/configmaps/rke-lm-snapshot"), !w.object(rw, r):
		w.api.ServeHTTP(rw, r)
	}
}

// object answers requests about objects that are applied; false for other ones.
func (w *world) object(rw http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, there := w.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		w.objects[r.URL.Path] = string(body)
		fmt.Fprint(rw, "{}")
	case r.Method == http.MethodDelete && there:
		delete(w.objects, r.URL.Path)
		fmt.Fprint(rw, "{}")
	case there:
		fmt.Fprint(rw, text)
	default:
		return false
	}
	return true
}

func (w *world) node(rw http.ResponseWriter, r *http.Request, name string) {
	i := slices.IndexFunc(w.api.Nodes, func(n corev1.Node) bool { return n.Name == name })
	if i < 0 {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	node := w.api.Nodes[i]
	node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	text, err := json.Marshal(node)
	if err == nil && r.Method == http.MethodPatch {
		var p evanphx.Patch
		body, _ := io.ReadAll(r.Body)
		if p, err = evanphx.DecodePatch(body); err == nil {
			text, err = p.Apply(text)
		}
		var now corev1.Node
		if err == nil {
			err = json.Unmarshal(text, &now)
		}
		if err != nil {
			rw.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		w.api.Nodes[i] = now
	}
	rw.Write(text)
}

// run is a run over the cluster, as the command line makes it.
func (w *world) run(t *testing.T, agent string, say func(outputs.RunEvent)) *migrate.Run {
	t.Helper()
	server, err := rancher.Open(rancher.Source{URL: w.server.URL, TokenFile: w.rancher.TokenFile(t), Insecure: true, UserAgent: agent, Patience: defaultPatience, Dial: memnet.Dial})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := server.Find(t.Context(), rancher.Query{Name: w.name()})
	if err != nil {
		t.Fatal(err)
	}
	return &migrate.Run{
		Server: server, Object: objects[0], Planner: route.Planner{Distro: w.distro, Target: transform.Target{EndState: transform.EndStateExternal}},
		Timeout: 10 * time.Minute, Pause: lookAgain, Who: migrate.Who{User: "tester", Host: agent}, Say: say, Again: "again", Back: "back",
	}
}

func (w *world) name() string {
	if w.path == worldPath {
		return "fleet-default/orchard"
	}
	return engineID
}

// spec is the cluster's own part of its object.
func (w *world) spec(t *testing.T) string {
	t.Helper()
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal([]byte(w.rancher.Object(w.path)), &o); err != nil {
		t.Fatal(err)
	}
	return string(o.Spec)
}

// cordoned lists the Nodes that are cordoned or marked.
func (w *world) cordoned() (names []string) {
	w.api.Do(func() {
		for _, n := range w.api.Nodes {
			if _, marked := n.Annotations[transform.CordonAnnotation]; marked || n.Spec.Unschedulable {
				names = append(names, n.Name)
			}
		}
	})
	return names
}
