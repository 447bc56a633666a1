// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// simulation is clusters without machines and managers. Rancher's own API server has their objects; what
// their machines would run, and the API servers of the clusters, are those of package migratetest.
type simulation struct {
	*testing.T
	*migratetest.Fleet
	names   []string
	objects dynamic.Interface
	seen    map[string]int64 // the generations that the machines follow
}

// The resources of a simulated cluster, by their kinds.
var simulated = map[string]schema.GroupVersionResource{
	"Cluster":         {Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"},
	"RKEControlPlane": {Group: "rke.cattle.io", Version: "v1", Resource: "rkecontrolplanes"},
	"Machine":         {Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "machines"},
	"Secret":          {Version: "v1", Resource: "secrets"},
}

// simulate adds a number of simulated clusters to the Rancher. The user of the controller may migrate them.
func (c *managed) simulate(number int) *simulation {
	c.Helper()
	s := &simulation{T: c.T, seen: map[string]int64{}}
	for i := range number {
		s.names = append(s.names, fmt.Sprintf("simulated-%02d", i+1))
	}
	s.Fleet = migratetest.NewFleet(c.T, s.names...)
	var err error
	if s.objects, err = dynamic.NewForConfig(c.rancher.Local.Config(cluster.Admin)); err != nil {
		c.Fatal(err)
	}
	for _, at := range slices.Sorted(maps.Keys(s.Rancher.Objects())) {
		assert.NilError(c, s.write(c.Context(), s.read(at)))
	}
	for _, name := range s.names {
		id := s.read(s.Worlds[name].Path).Object["status"].(map[string]any)["clusterName"].(string)
		assert.NilError(c, c.rancher.Answer(c.Context(), id, name, s))
		grants{c.rancher.Local, "RKE2", name, id, leastUser}.bind(&scenario{T: c.T}, "migrate", "rollback")
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.follow(ctx)
			time.Sleep(500 * time.Millisecond)
		}
	}()
	c.Cleanup(func() { stop(); <-ended })
	return s
}

// ServeHTTP answers for the API servers of the clusters.
func (s *simulation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+ranchertest.Token) // Rancher has checked the user's own
	s.Rancher.ServeHTTP(w, r)
}

// follow lets the machines of every cluster that has changed follow its object. An API server that does not
// answer does so later.
func (s *simulation) follow(ctx context.Context) {
	list, err := s.objects.Resource(simulated["Cluster"]).Namespace(rancher.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, o := range list.Items {
		w := s.Worlds[o.GetName()]
		if w == nil || s.seen[o.GetName()] == o.GetGeneration() {
			continue
		}
		text, err := json.Marshal(&o)
		if err != nil {
			s.Error(err)
			return
		}
		s.Rancher.Put(s.T, string(text))
		w.Follow()
		s.seen[o.GetName()] = o.GetGeneration()
		for _, at := range slices.Sorted(maps.Keys(s.Rancher.Objects())) {
			if made := s.read(at); made.GetKind() != "Cluster" && strings.HasPrefix(made.GetName(), o.GetName()) && s.write(ctx, made) != nil {
				delete(s.seen, o.GetName())
			}
		}
	}
}

// read is an object as the machines and Rancher's controllers leave it.
func (s *simulation) read(at string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(s.Rancher.Object(at))); err != nil {
		s.Error(err)
	}
	return o
}

// write writes an object to Rancher's own API server, and its status, which is of the generation that it has then.
func (s *simulation) write(ctx context.Context, o *unstructured.Unstructured) error {
	to := s.objects.Resource(simulated[o.GetKind()]).Namespace(rancher.Namespace)
	status, has := o.Object["status"].(map[string]any)
	metadata := map[string]any{"name": o.GetName(), "namespace": rancher.Namespace}
	if labels := o.GetLabels(); len(labels) > 0 {
		metadata["labels"] = o.Object["metadata"].(map[string]any)["labels"]
	}
	o.Object["metadata"] = metadata
	options := metav1.ApplyOptions{FieldManager: "simulated", Force: true}
	made, err := to.Apply(ctx, o.GetName(), o, options)
	if err != nil || !has {
		return err
	}
	if _, is := status["observedGeneration"]; is {
		status["observedGeneration"] = made.GetGeneration()
	}
	delete(o.Object, "spec")
	_, err = to.ApplyStatus(ctx, o.GetName(), o, options)
	return err
}

// untouched requires that no run wrote to the clusters.
func (s *simulation) untouched(written map[string]int) {
	s.Helper()
	for _, name := range s.names {
		if n := written["local "+name]; n > 0 {
			s.Errorf("%s was written to %d times", name, n)
		}
	}
}

// migrated requires the end state of the clusters, without a cordon.
func (s *simulation) migrated() {
	s.Helper()
	for _, name := range s.names {
		w := s.Worlds[name]
		if spec := w.Spec(s.T); !strings.Contains(spec, `"external"`) || strings.Contains(spec, "enable-leader-migration") || len(w.Cordoned()) > 0 {
			s.Errorf("%s, of which %v are cordoned: %s", name, w.Cordoned(), spec)
		}
	}
}
