// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// Fleet is a Rancher with several clusters of RKE2, each a world of its own.
type Fleet struct {
	Rancher *ranchertest.Server
	URL     string
	Worlds  map[string]*World // by the names of the clusters
}

// NewFleet makes a Rancher with clusters of these names. They have the label fleet=yes.
func NewFleet(t testing.TB, names ...string) *Fleet {
	t.Helper()
	f := &Fleet{Rancher: ranchertest.Start(t), Worlds: map[string]*World{}}
	for i, name := range names {
		id := fmt.Sprintf("c-m-fleet%03d", i)
		w := ofRancher(t, f.Rancher, id)
		w.rke2(name, id)
		f.Rancher.Edit(w.Path, func(o map[string]any) {
			o["metadata"].(map[string]any)["labels"] = map[string]any{"fleet": "yes"}
			o["metadata"].(map[string]any)["uid"] = "u-" + name
		})
		f.Worlds[name] = w
	}
	f.URL = memnet.Serve(t, f).URL
	return f
}

// ServeHTTP is the Rancher. The machines of a cluster follow its object.
func (f *Fleet) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	for _, w := range f.Worlds {
		w.count(r)
	}
	path := r.URL.Path
	f.Rancher.ServeHTTP(rw, r)
	for _, w := range f.Worlds {
		if r.Method == http.MethodPatch && path == "/k8s/clusters/local"+w.Path {
			w.Follow()
		}
	}
}
