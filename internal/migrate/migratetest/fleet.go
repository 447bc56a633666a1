// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// Fleet is a Rancher with several clusters, each a world of its own.
type Fleet struct {
	Rancher *ranchertest.Server
	URL     string
	Worlds  map[string]*World // by the names of the clusters
	Most    int               // clusters that were migrated at once

	at      map[string]*World // by the paths of their objects, and of the clusters themselves
	running map[string]bool   // by the names of the clusters
}

// Runs notes whether a cluster is being migrated.
func (f *Fleet) Runs(cluster string, is bool) {
	if delete(f.running, cluster); is {
		f.running[cluster] = true
	}
	f.Most = max(f.Most, len(f.running))
}

// Migrated expects clusters at the end of their migrations, without a lock and a cordon.
func (f *Fleet) Migrated(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		w := f.Worlds[name]
		if s := w.Spec(t); !strings.Contains(s, `"external"`) || strings.Contains(s, "enable-leader-migration") || len(w.Cordoned()) > 0 || f.Rancher.Object(w.Lock) != "" {
			t.Errorf("%s: %s, cordoned %v, lock %s", name, s, w.Cordoned(), f.Rancher.Object(w.Lock))
		}
	}
}

const clusterRoute = "/k8s/clusters/"

// NewFleet makes a Rancher with clusters of RKE2 of these names. They have the label fleet=yes.
func NewFleet(t testing.TB, names ...string) *Fleet {
	t.Helper()
	f := &Fleet{Rancher: ranchertest.Start(t), Worlds: map[string]*World{}, at: map[string]*World{}, running: map[string]bool{}}
	for i, name := range names {
		id := fmt.Sprintf("c-m-fleet%03d", i)
		w := ofRancher(t, f.Rancher, id)
		w.rke2(name, id)
		f.Rancher.Edit(w.Path, func(o map[string]any) {
			o["metadata"].(map[string]any)["labels"] = map[string]any{"fleet": "yes"}
			o["metadata"].(map[string]any)["uid"] = "u-" + name
		})
		f.add(name, id, w)
	}
	f.URL = memnet.Serve(t, f).URL
	return f
}

// AddRKE1 adds the cluster of RKE1, before anyone asks the Rancher.
func (f *Fleet) AddRKE1(t testing.TB) *World {
	t.Helper()
	w := ofRancher(t, f.Rancher, RKE1ID)
	w.rke1(t)
	f.add(RKE1ID, RKE1ID, w)
	return w
}

func (f *Fleet) add(name, id string, w *World) {
	f.Worlds[name], f.at[clusterRoute+id], f.at[clusterRoute+"local"+w.Path] = w, w, w
}

// ServeHTTP is the Rancher. The machines of a cluster follow its object.
func (f *Fleet) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	object := f.at[r.URL.Path]
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, clusterRoute), "/")
	if w := cmp.Or(object, f.at[clusterRoute+id]); w != nil {
		w.count(r)
		w.released()
	}
	f.Rancher.ServeHTTP(rw, r)
	if object != nil && r.Method == http.MethodPatch {
		object.Follow()
	}
}
