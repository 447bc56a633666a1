// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// resource is where an API server has objects of a kind.
type resource struct {
	group, name string // as in a path
	list        string // the kind of the list
	selector    string // of labels
	version     string // "0" for what the server has in its cache
}

// in is the list of one namespace; "" means all of them.
func (r resource) in(namespace string) kube.Resource {
	version, what := "v1", "list "+r.name
	if r.group != "" {
		version, what = r.group+"/v1", what+"."+r.group
	}
	if namespace != "" {
		what += " in " + namespace
	}
	return kube.Resource{What: what, Path: kube.Path(version, r.name, namespace, ""), Kind: r.list, Options: metav1.ListOptions{LabelSelector: r.selector, ResourceVersion: r.version}}
}

// everywhere lists what lies in all namespaces, or in kube-system where no more is
// allowed. A denial is remembered until the next look at everything.
func everywhere[T, O any](ctx context.Context, o *Observer, r resource, keep func(*O, []T) []T) ([]T, error) {
	if !o.narrow.has(r.name) {
		found, err := kube.Collect(ctx, o.Client, r.in(""), keep)
		if !kube.HasStatus(err, http.StatusForbidden) {
			return found, err
		}
		o.narrow.add(r.name)
	}
	return kube.Collect(ctx, o.Client, r.in(managersNamespace), keep)
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
