// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
)

// Query says which clusters are meant; the zero Query means all.
type Query struct {
	// Name is NAMESPACE/NAME, a name, or an ID (c-m-… or c-…); one cluster has to
	// have it.
	Name     string
	Selector string // of labels
}

// engineID is the form of the IDs of RKE1 clusters.
var engineID = regexp.MustCompile(`^c-[a-z0-9]{5}$`)

// ErrNone says that Rancher has no such cluster.
var ErrNone = errors.New("no such cluster")

// ErrNoRancher says that the API server is not that of a Rancher's own cluster.
var ErrNoRancher = errors.New("this API server knows no clusters of Rancher; name Rancher's own cluster, local, with --context or --rancher-url")

// Find returns the clusters that are meant, each once, sorted by their titles.
func (s *Server) Find(ctx context.Context, q Query) ([]Object, error) {
	if _, err := labels.Parse(q.Selector); err != nil {
		return nil, fmt.Errorf("the label selector cannot be read: %w; write it as kubectl takes it", err)
	}
	if namespace, name, both := strings.Cut(q.Name, "/"); both {
		o, err := s.named(ctx, namespace, name)
		return []Object{o}, s.explained(err)
	}
	if engineID.MatchString(q.Name) {
		// Who may read this one object need not be allowed to list.
		switch o, h, err := s.get(ctx, Object{Distro: RKE1, Name: q.Name}); {
		case err == nil && h.isEngine():
			return []Object{o}, nil
		case err != nil && !unseen(err):
			return nil, s.explained(err)
		}
	}
	list, err := s.all(ctx, q.Selector)
	if err != nil {
		return nil, s.explained(err)
	}
	if q.Name != "" {
		return one(list, q.Name)
	}
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Title(), b.Title()) })
	return list, nil
}

// one is the cluster of a name or an ID.
func one(list []Object, name string) ([]Object, error) {
	found := slices.DeleteFunc(list, func(o Object) bool { return name != o.Name && name != o.ID && name != o.Display })
	var titles []string
	for _, o := range found {
		titles = append(titles, o.Title())
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %s; rke-lm status lists the clusters of a Rancher", ErrNone, name)
	case len(found) > 1:
		return nil, fmt.Errorf("several clusters are called %s: %s; name one by its NAMESPACE/NAME or its ID", name, strings.Join(titles, ", "))
	}
	return found, nil
}

// named reads one cluster.
func (s *Server) named(ctx context.Context, namespace, name string) (Object, error) {
	for _, part := range []string{namespace, name} {
		if part == "" || len(content.IsPathSegmentName(part)) > 0 {
			return Object{}, fmt.Errorf("%s/%s is not the NAMESPACE/NAME of a cluster; rke-lm status lists the clusters of a Rancher", namespace, name)
		}
	}
	o, h, err := s.get(ctx, Object{Distro: RKE2, Namespace: namespace, Name: name})
	switch {
	case unseen(err) && !s.hasClusters(ctx):
		return Object{}, ErrNoRancher
	case kubeapi.HasStatus(err, http.StatusNotFound):
		return Object{}, fmt.Errorf("%w: %s/%s; rke-lm status lists the clusters of a Rancher", ErrNone, namespace, name)
	case err != nil || isSet(h.Spec.RKEConfig) || o.ID == "":
		return o, err
	}
	return s.behind(ctx, o)
}

// behind returns the object that counts for a cluster of RKE, for which Rancher keeps
// one in a namespace as well that only points to it; else the object itself.
func (s *Server) behind(ctx context.Context, o Object) (Object, error) {
	engine, h, err := s.get(ctx, Object{Distro: RKE1, Name: o.ID})
	switch {
	case err != nil && !unseen(err):
		return o, err
	case err != nil || !h.isEngine():
		// Who may not see the other object is told what this one shows.
		return o, nil
	}
	return engine, nil
}

// unseen reports whether there is nothing, or nothing that the user may see.
func unseen(err error) bool {
	return kubeapi.HasStatus(err, http.StatusNotFound, http.StatusForbidden)
}

// rawList is a list of objects, each as the server wrote it.
type rawList struct {
	kubeapi.CustomList
	Items []json.RawMessage `json:"items"`
}

// all lists the clusters of both kinds.
func (s *Server) all(ctx context.Context, selector string) ([]Object, error) {
	provisioned, err := s.list(ctx, "clusters.provisioning.cattle.io", provisioned, selector)
	if unseen(err) && !s.hasClusters(ctx) {
		return nil, ErrNoRancher
	}
	managed, errManaged := s.list(ctx, "clusters.management.cattle.io", managed, selector)
	if kubeapi.HasStatus(errManaged, http.StatusNotFound) {
		errManaged = nil // provisioning alone, as without the multi-cluster manager
	}
	if err := kubeapi.Joined([]error{err, errManaged}); err != nil {
		return nil, err
	}
	return s.merged(ctx, provisioned, managed)
}

// known is what an object of management.cattle.io says of a cluster.
type known struct {
	display string
	engine  bool // RKE makes it, and this object counts
}

// merged returns each cluster once, with the name that people use.
func (s *Server) merged(ctx context.Context, provisioned, managed []json.RawMessage) ([]Object, error) {
	list, ids, err := engines(managed)
	if err != nil {
		return nil, err
	}
	for _, raw := range provisioned {
		o, h, err := read(RKE2, raw)
		if err != nil {
			return nil, err
		}
		other, there := ids[o.ID]
		o.Display = cmp.Or(other.display, o.Display)
		switch points := !isSet(h.Spec.RKEConfig) && engineID.MatchString(o.ID); {
		case points && other.engine:
			continue
		case points && !there: // its other object has other labels
			if o, err = s.behind(ctx, o); err != nil {
				return nil, err
			}
		}
		list = append(list, o)
	}
	return list, nil
}

// engines are the clusters that RKE makes, and what is known of all by their IDs.
func engines(managed []json.RawMessage) (list []Object, ids map[string]known, err error) {
	ids = map[string]known{}
	for _, raw := range managed {
		o, h, err := read(RKE1, raw)
		if err != nil {
			return nil, nil, err
		}
		ids[o.ID] = known{o.Display, h.isEngine()}
		if h.isEngine() {
			list = append(list, o)
		}
	}
	return list, ids, nil
}

// hasClusters asks what everybody may ask: who has no right to list something is
// refused even where there is no such thing.
func (s *Server) hasClusters(ctx context.Context) bool {
	_, err := s.local.Do(ctx, kubeapi.Request{What: "get the resources of provisioning.cattle.io", Method: http.MethodGet, Path: "/apis/provisioning.cattle.io/v1", Accept: "application/json"})
	return !kubeapi.HasStatus(err, http.StatusNotFound)
}

func (s *Server) list(ctx context.Context, what, path, selector string) ([]json.RawMessage, error) {
	r := kubeapi.Resource{What: "list " + what, Path: path, Kind: "ClusterList", JSONOnly: true}
	if selector != "" {
		r.Query = url.Values{"labelSelector": {selector}}
	}
	return kubeapi.Collect(ctx, s.local, r, func(l *rawList, kept []json.RawMessage) []json.RawMessage { return append(kept, l.Items...) })
}

// Get reads an object again. It fails with *Stale when it is gone, or when another
// one has its name.
func (s *Server) Get(ctx context.Context, o Object) (Object, error) {
	now, _, err := s.get(ctx, o)
	switch {
	case kubeapi.HasStatus(err, http.StatusNotFound):
		return o, &Stale{Title: o.Title(), What: "is gone"}
	case err != nil:
		return o, s.explained(err)
	case now.UID != o.UID:
		return o, &Stale{Title: o.Title(), What: "was deleted, and another cluster has its name"}
	}
	return now, nil
}

func (s *Server) get(ctx context.Context, o Object) (Object, head, error) {
	a, err := s.local.Object(ctx, kubeapi.Request{What: "get " + o.resource(), Method: http.MethodGet, Path: o.path()}, "Cluster")
	if err != nil {
		return o, head{}, err
	}
	now, h, err := read(o.Distro, a.Body)
	if err != nil {
		return o, h, &kubeapi.Unreached{What: "get " + o.resource(), Err: err}
	}
	return now, h, nil
}
