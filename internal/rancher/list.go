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
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

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
func (s *Server) merged(ctx context.Context, provisioned, managed []json.RawMessage, gated bool) (list []Object, hidden []Unseen, err error) {
	list, ids, err := engines(managed)
	if err != nil {
		return nil, nil, err
	}
	var pointing []Object // their other object has other labels, or may not be listed
	for _, raw := range provisioned {
		o, h, err := read(transform.Provisioning, raw)
		if err != nil {
			return nil, nil, err
		}
		other, there := ids[o.ID]
		o.Display = cmp.Or(other.Spec.DisplayName, o.Display)
		switch points := !isSet(h.Spec.RKEConfig) && engineID.MatchString(o.ID); {
		case points && other.isEngine():
		case points && !there:
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

// engines are the clusters that RKE makes, and what the objects of all say, by their IDs.
func engines(managed []json.RawMessage) (list []Object, ids map[string]head, err error) {
	ids = map[string]head{}
	for _, raw := range managed {
		o, h, err := read(transform.Management, raw)
		if err != nil {
			return nil, nil, err
		}
		if ids[o.ID] = h; h.isEngine() {
			list = append(list, o)
		}
	}
	return list, ids, nil
}

// hasClusters requests what every user may request: who has no right to list something is
// refused even where there is no such thing.
func (s *Server) hasClusters(ctx context.Context) bool {
	at := transform.Provisioning
	_, err := s.local.Do(ctx, kube.Request{What: "get the resources of " + at.Group, Method: http.MethodGet, Path: "/apis/" + at.APIVersion()})
	return !kube.HasStatus(err, http.StatusNotFound)
}

func (s *Server) list(ctx context.Context, kind transform.ObjectKind, selector string) ([]json.RawMessage, error) {
	r := kube.Resource{Version: kind.APIVersion(), Name: "clusters", Kind: "ClusterList"}
	r.Options.LabelSelector = selector
	return PastGate(ctx, s, listOf(kind), func() ([]json.RawMessage, error) {
		return kube.CollectAs(ctx, s.local, r, func(raw []byte) (json.RawMessage, error) { return raw, nil })
	})
}
