// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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

// ErrNone means that Rancher has no such cluster.
var ErrNone = errors.New("no such cluster")

// ErrNoRancher means that the API server is not that of a Rancher's own cluster.
var ErrNoRancher = errors.New("this API server has no clusters of Rancher; use Rancher's own cluster, local, with --context or --rancher-url")

// Find returns the clusters that are meant, each once, sorted by their titles. Where
// the user may not see all that there is, it returns *Incomplete with what they may;
// one cluster by its name or ID is found or not.
func (s *Server) Find(ctx context.Context, q Query) ([]Object, error) {
	if _, err := labels.Parse(q.Selector); err != nil {
		return nil, fmt.Errorf("invalid label selector: %w; use the syntax of kubectl", err)
	}
	if namespace, name, both := strings.Cut(q.Name, "/"); both {
		o, err := s.named(ctx, namespace, name)
		return []Object{o}, s.explained(err)
	}
	if engineID.MatchString(q.Name) {
		// Who may read this one object need not be allowed to list.
		switch o, h, err := s.get(ctx, Object{Kind: transform.Management, Name: q.Name}); {
		case err == nil && h.isEngine():
			return []Object{o}, nil
		case err != nil && !unseen(err):
			return nil, s.explained(err)
		}
	}
	list, hidden, err := s.all(ctx, q.Selector)
	if err != nil {
		return nil, s.explained(err)
	}
	if q.Name != "" {
		return one(list, hidden, q.Name)
	}
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Title(), b.Title()) })
	if len(hidden) > 0 {
		return list, &Incomplete{hidden}
	}
	return list, nil
}

// one is the cluster of a name or an ID. What was not seen may have the same name, but
// no other cluster has the same ID.
func one(list []Object, hidden []Unseen, name string) ([]Object, error) {
	found := slices.DeleteFunc(list, func(o Object) bool { return name != o.Name && name != o.ID && name != o.Display })
	titles := lists.Map(found, Object.Title)
	switch {
	case len(hidden) > 0 && (len(found) != 1 || found[0].ID != name):
		return nil, fmt.Errorf("use NAMESPACE/NAME for %s, because another cluster may have that name: %w", name, &Incomplete{hidden})
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %s; rke-lm status lists the clusters of a Rancher", ErrNone, name)
	case len(found) > 1:
		return nil, fmt.Errorf("several clusters have the name %s: %s; use NAMESPACE/NAME or the ID", name, strings.Join(titles, ", "))
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
	o, h, err := s.get(ctx, Object{Kind: transform.Provisioning, Namespace: namespace, Name: name})
	switch {
	case unseen(err) && !s.hasClusters(ctx):
		return Object{}, ErrNoRancher
	case kube.HasStatus(err, http.StatusNotFound):
		return Object{}, fmt.Errorf("%w: %s/%s; rke-lm status lists the clusters of a Rancher", ErrNone, namespace, name)
	case err != nil || isSet(h.Spec.RKEConfig) || !engineID.MatchString(o.ID):
		return o, err
	}
	if o, err = s.managed(ctx, o); err != nil {
		return o, fmt.Errorf("%s: %w", o.Title(), err)
	}
	return o, nil
}

// managed returns the object that counts for a cluster of RKE, for which Rancher keeps
// one in a namespace as well that only points to it; else the object itself.
func (s *Server) managed(ctx context.Context, o Object) (Object, error) {
	engine, h, err := s.get(ctx, Object{Kind: transform.Management, Name: o.ID})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return o, nil
	case kube.HasStatus(err, http.StatusForbidden):
		return o, s.hiding(&kube.Denied{Missing: []string{rollout.ClusterPermission(o.ID).String()}})
	case isGate(err):
		return o, s.hiding(err)
	case err != nil:
		return o, err
	case !h.isEngine():
		return o, nil
	}
	return engine, nil
}

// unseen reports whether there is nothing, or nothing that the user may see.
func unseen(err error) bool {
	return kube.HasStatus(err, http.StatusNotFound, http.StatusForbidden)
}

// Get reads an object again. It fails with *Stale when it is gone, or when another
// one has its name.
func (s *Server) Get(ctx context.Context, o Object) (Object, error) {
	now, _, err := s.get(ctx, o)
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return o, &Stale{Title: o.Title(), What: "is gone"}
	case err != nil:
		return o, s.explained(err)
	case now.UID != o.UID:
		return o, &Stale{Title: o.Title(), What: "was deleted, and another cluster has its name"}
	}
	return now, nil
}

func (s *Server) get(ctx context.Context, o Object) (Object, head, error) {
	a, err := PastGate(ctx, s, o.path(), func() (kube.Answer, error) {
		return s.local.Object(ctx, kube.Request{What: "get " + resource(o.Kind), Method: http.MethodGet, Path: o.path()}, "Cluster")
	})
	if err != nil {
		return o, head{}, err
	}
	now, h, err := read(o.Kind, a.Body)
	if err != nil {
		return o, h, &kube.Unreached{What: "get " + resource(o.Kind), Err: err}
	}
	return now, h, nil
}
