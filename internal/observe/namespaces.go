// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"net/http"
	"sync"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// everywhere lists what lies in all namespaces, or in kube-system where no more is
// allowed. A denial is remembered until the next look at everything.
func everywhere[T, O any](ctx context.Context, o *Observer, r kube.Resource, keep func(*O, []T) []T) ([]T, error) {
	if !o.narrow.has(r.Name) {
		found, err := kube.Collect(ctx, o.Client, r, keep)
		if !kube.HasStatus(err, http.StatusForbidden) {
			return found, err
		}
		o.narrow.add(r.Name)
	}
	return kube.Collect(ctx, o.Client, r.In(managersNamespace), keep)
}

// KubeSystemAlone reports that a resource may be listed in kube-system alone, so that no
// look requests more: where the rights were reviewed a denial is tried again.
func (o *Observer) KubeSystemAlone(resource string) { o.narrow.Store(resource, true) }

// narrow are the resources that may be listed in kube-system alone, and whether a
// review said so.
type narrow struct{ sync.Map }

func (n *narrow) has(name string) bool {
	_, is := n.Load(name)
	return is
}

func (n *narrow) reviewed(name string) bool {
	is, _ := n.Load(name)
	return is == true
}

// add notes what a request was denied.
func (n *narrow) add(name string) { n.LoadOrStore(name, false) }

func (n *narrow) any() (found bool) {
	n.Range(func(any, any) bool { found = true; return false })
	return found
}

// forget keeps what a review said.
func (n *narrow) forget() {
	n.Range(func(name, _ any) bool { n.CompareAndDelete(name, false); return true })
}
