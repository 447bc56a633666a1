// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	evanphx "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// downstream is the API server of the cluster: Nodes can be read and patched one by
// one, and objects be applied, looked for and deleted.
func (w *World) downstream(rw http.ResponseWriter, r *http.Request) {
	name, node := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	switch {
	case node && r.Method == http.MethodDelete:
		w.deleteNode(rw, r, name)
	case node:
		w.API.Do(func() { w.node(rw, r, name) })
	case strings.HasSuffix(r.URL.Path, "/eviction"):
		w.evict(rw, r)
	case strings.HasSuffix(r.URL.Path, "/configmaps/rke-lm-snapshot"), !w.object(rw, r):
		w.API.ServeHTTP(rw, r)
	}
}

// object answers requests about objects that are applied; false for other ones.
func (w *World) object(rw http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, there := w.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		w.objects[r.URL.Path] = string(body)
		if strings.Contains(r.URL.Path, "/services/") {
			w.objects[r.URL.Path] = w.balanced(body)
		}
		fmt.Fprint(rw, "{}")
	case r.Method == http.MethodDelete && there:
		maps.DeleteFunc(w.objects, func(path, _ string) bool {
			return path == r.URL.Path || strings.HasPrefix(path, r.URL.Path+"/")
		})
		if w.Helm != "" {
			w.runRKE1Locked()
		}
		fmt.Fprint(rw, "{}")
	case there:
		fmt.Fprint(rw, text)
	default:
		return false
	}
	return true
}

// Address is that of the load balancer of every Service that is applied.
const Address = "internal-canary.eu-west-1.elb.amazonaws.com"

// balanced is a Service as the cloud controllers leave it.
func (w *World) balanced(body []byte) string {
	var s map[string]any
	if err := json.Unmarshal(body, &s); err != nil {
		panic(err)
	}
	if w.Balance {
		s["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"hostname": Address}}}}
	}
	return string(must(json.Marshal(s)))
}

// Exists reports whether the cluster has an object that was applied.
func (w *World) Exists(path string) bool {
	_, there := w.Applied()[path]
	return there
}

// Put puts an object into the cluster, as another user does.
func (w *World) Put(path, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[path] = text
}

func (w *World) node(rw http.ResponseWriter, r *http.Request, name string) {
	i := slices.IndexFunc(w.API.Nodes, func(n corev1.Node) bool { return n.Name == name })
	if i < 0 {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	node := w.API.Nodes[i]
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
		w.initialize(&now, i)
		w.API.Nodes[i] = now
	}
	rw.Write(text)
}

// initialize is what a cloud-controller-manager does with a Node that has the taint.
func (w *World) initialize(n *corev1.Node, i int) {
	taint := func(t corev1.Taint) bool { return t.Key == observed.Uninitialized }
	if len(w.API.DaemonSets) == 0 || !slices.ContainsFunc(n.Spec.Taints, taint) {
		return
	}
	fresh := Registered(i)
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, taint)
	n.Spec.ProviderID, n.Labels = fresh.Spec.ProviderID, fresh.Labels
}

// Registered is Node i as a cloud-controller-manager initialized it.
func Registered(i int) corev1.Node {
	fresh := &apitest.Server{Renews: map[string]bool{}}
	fresh.Fill(i + 1)
	return fresh.Nodes[i]
}

// Cordoned lists the Nodes that are cordoned or marked.
func (w *World) Cordoned() (names []string) {
	w.API.Do(func() {
		for _, n := range w.API.Nodes {
			if _, marked := n.Annotations[action.CordonAnnotation]; marked || n.Spec.Unschedulable {
				names = append(names, n.Name)
			}
		}
	})
	return names
}
