// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
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
		switch o, err := s.get(ctx, Object{Kind: transform.Management, Name: q.Name}); {
		case err == nil && o.engine:
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
	wrong := func(part string) bool { return part == "" || len(content.IsPathSegmentName(part)) > 0 }
	if wrong(namespace) || wrong(name) {
		return Object{}, fmt.Errorf("%s/%s is not the NAMESPACE/NAME of a cluster; rke-lm status lists the clusters of a Rancher", namespace, name)
	}
	o, err := s.get(ctx, Object{Kind: transform.Provisioning, Namespace: namespace, Name: name})
	switch {
	case unseen(err) && !s.hasClusters(ctx):
		return Object{}, ErrNoRancher
	case kube.HasStatus(err, http.StatusNotFound):
		return Object{}, fmt.Errorf("%w: %s/%s; rke-lm status lists the clusters of a Rancher", ErrNone, namespace, name)
	case err != nil || !o.points():
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
	made, err := s.get(ctx, Object{Kind: transform.Management, Name: o.ID})
	switch {
	case kube.HasStatus(err, http.StatusNotFound), err == nil && !made.engine:
		return o, nil
	case kube.HasStatus(err, http.StatusForbidden):
		return o, s.hiding(&kube.Denied{Missing: []string{rollout.ClusterPermission(o.ID).String()}})
	case isGate(err):
		return o, s.hiding(err)
	case err != nil:
		return o, err
	}
	return made, nil
}

// unseen reports whether there is nothing, or nothing that the user may see.
func unseen(err error) bool {
	return kube.HasStatus(err, http.StatusNotFound, http.StatusForbidden)
}

// Get reads an object again. It fails with *Stale when it is gone, or when another
// one has its name.
func (s *Server) Get(ctx context.Context, o Object) (Object, error) {
	now, err := s.get(ctx, o)
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

func (s *Server) get(ctx context.Context, o Object) (Object, error) {
	now, _, err := s.request(ctx, o, kube.Request{What: "get " + resource(o.Kind), Method: http.MethodGet})
	return now, err
}

// request makes a request about an object, whose answer is the object as it is then.
func (s *Server) request(ctx context.Context, o Object, r kube.Request) (Object, []string, error) {
	r.Path = o.path()
	a, err := PastGate(ctx, s, r.Path, func() (kube.Answer, error) { return s.local.Object(ctx, r, "Cluster") })
	if err != nil {
		return o, kube.Warnings(err), err
	}
	now, err := read(o.Kind, a.Body)
	if err != nil {
		return o, a.Warnings, &kube.Unreached{What: r.What, Err: err}
	}
	return now, a.Warnings, nil
}

// Incomplete says which clusters the user may not see; the others were found.
type Incomplete struct{ Unseen []Unseen }

// Unseen is a cluster, or a kind of clusters, that the user may not see.
type Unseen struct {
	Title string
	Err   error // why; a *kube.Denied is in it
}

func (i *Incomplete) Error() string {
	return strings.Join(lists.Map(i.Unseen, func(u Unseen) string { return u.Title + ": " + u.Err.Error() }), "; ")
}

func (i *Incomplete) Unwrap() []error {
	return lists.Map(i.Unseen, func(u Unseen) error { return u.Err })
}

// hiding keeps an RKE1 cluster, whose other object the user may not see, from being
// taken for an imported one.
func (s *Server) hiding(err error) error {
	return fmt.Errorf("it is not known whether this is an RKE1 cluster: %w", s.explained(err))
}

// all lists the clusters of both kinds. A user who may list one kind alone gets that
// one, and what they may not see; it fails where they may list neither.
func (s *Server) all(ctx context.Context, selector string) ([]Object, []Unseen, error) {
	provisioned, err := s.list(ctx, transform.Provisioning, selector)
	if unseen(err) && !s.hasClusters(ctx) {
		return nil, nil, ErrNoRancher
	}
	managed, errManaged := s.list(ctx, transform.Management, selector)
	if kube.HasStatus(errManaged, http.StatusNotFound) {
		errManaged = nil // provisioning alone, as without the multi-cluster manager
	}
	refusal := kube.Joined([]error{err, errManaged})
	var hidden []Unseen
	switch {
	case refusal == nil:
	case err != nil && errManaged != nil, !kube.Lacks(refusal):
		return nil, nil, refusal
	case err != nil:
		hidden = []Unseen{{"RKE2 clusters", s.explained(refusal)}}
	default:
		hidden = []Unseen{{"RKE1 clusters", s.explained(refusal)}}
	}
	list, more, err := s.merged(ctx, provisioned, managed, isGate(errManaged))
	return list, append(hidden, more...), err
}

// isGate reports whether Rancher lets the user reach management.cattle.io not at all.
func isGate(err error) bool {
	var d *kube.Denied
	return errors.As(err, &d) && slices.Contains(d.Missing, rollout.GatePermission.String())
}

// merged returns each cluster once, with the name that people use, and those of which
// the user may not see who makes them.
func (s *Server) merged(ctx context.Context, provisioned, managed []Object, gated bool) (list []Object, hidden []Unseen, err error) {
	ids := lists.By(managed, func(o Object) string { return o.ID }) // what the objects of all say
	list = lists.Where(managed, func(o Object) bool { return o.engine })
	var pointing []Object // their other object has other labels, or may not be listed
	for _, o := range provisioned {
		other, there := ids[o.ID]
		o.Display = cmp.Or(other.Display, o.Display)
		switch {
		case o.points() && other.engine:
		case o.points() && !there:
			pointing = append(pointing, o)
		default:
			list = append(list, o)
		}
	}
	if gated {
		return list, lists.Map(pointing, func(o Object) Unseen {
			return Unseen{o.Title(), s.hiding(&kube.Denied{Missing: []string{rollout.GatePermission.String()}})}
		}), nil
	}
	errs := make([]error, len(pointing))
	_ = kube.ForEach(len(pointing), func(i int) error {
		pointing[i], errs[i] = s.managed(ctx, pointing[i])
		return nil
	})
	for i, err := range errs {
		switch {
		case err == nil:
			list = append(list, pointing[i])
		case kube.Lacks(err):
			hidden = append(hidden, Unseen{pointing[i].Title(), err})
		default:
			return nil, nil, err
		}
	}
	return list, hidden, nil
}

// hasClusters requests what every user may request: who has no right to list something is
// refused even where there is no such thing.
func (s *Server) hasClusters(ctx context.Context) bool {
	at := transform.Provisioning
	_, err := s.local.Do(ctx, kube.Request{What: "get the resources of " + at.Group, Method: http.MethodGet, Path: "/apis/" + at.APIVersion()})
	return !kube.HasStatus(err, http.StatusNotFound)
}

func (s *Server) list(ctx context.Context, kind transform.ObjectKind, selector string) ([]Object, error) {
	r := kube.Resource{Version: kind.APIVersion(), Name: "clusters", Kind: "ClusterList"}
	r.Options.LabelSelector = selector
	return PastGate(ctx, s, kube.Path(r.Version, r.Name, "", ""), func() ([]Object, error) {
		return kube.CollectAs(ctx, s.local, r, func(raw []byte) (Object, error) { return read(kind, raw) })
	})
}
