// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"maps"
	"net/http"
	"net/url"
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
	path, what := "/api/v1/", "list "+r.name
	if r.group != "" {
		path, what = "/apis/"+r.group+"/v1/", what+"."+r.group
	}
	if namespace != "" {
		path += "namespaces/" + url.PathEscape(namespace) + "/"
		what += " in " + namespace
	}
	return kube.Resource{What: what, Path: path + r.name, Kind: r.list, Options: metav1.ListOptions{LabelSelector: r.selector, ResourceVersion: r.version}}
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
func (o *Observer) KubeSystemAlone(resource string) { o.narrow.set(resource, true) }

// narrow are the resources that may be listed in kube-system alone, and whether a
// review said so.
type narrow struct {
	mu    sync.Mutex
	names map[string]bool
}

func (n *narrow) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, is := n.names[name]
	return is
}

func (n *narrow) reviewed(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[name]
}

// add notes what a request was denied.
func (n *narrow) add(name string) { n.set(name, n.reviewed(name)) }

func (n *narrow) set(name string, reviewed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]bool{}
	}
	n.names[name] = reviewed
}

func (n *narrow) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.names) > 0
}

// forget keeps what a review said.
func (n *narrow) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.names, func(_ string, reviewed bool) bool { return !reviewed })
}
