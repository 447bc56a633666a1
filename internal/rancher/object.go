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
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Object is the object that describes a cluster, as the server had it.
type Object struct {
	Kind            transform.ObjectKind
	Namespace, Name string
	Display         string // the name that people use
	ID              string // c-m-… or c-…; "" while Rancher has not given one
	UID             string
	Labels          map[string]string
	engine, planned bool // RKE makes the cluster; Rancher's planner does
	// Raw is the object's JSON as the server wrote it, and Text as much of it as
	// people write, on lines of its own: without the status and what else the server
	// keeps. Both may hold secrets.
	Raw, Text []byte
}

// Title is how people call the cluster.
func (o Object) Title() string {
	if o.Namespace == "" && o.Display != "" && o.Display != o.Name {
		return o.Name + " (" + o.Display + ")"
	}
	return o.FullName()
}

// FullName is NAMESPACE/NAME, or the name of one without a namespace, which is the ID of its
// cluster: what --cluster takes.
func (o Object) FullName() string { return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

// Home is the namespace for what belongs to the cluster, on Rancher's own.
func (o Object) Home() string { return cmp.Or(o.Namespace, o.Name) }

// Subject is the cluster as the table of permissions has it.
func (o Object) Subject() rollout.Subject {
	return rollout.Subject{Kind: o.Kind, Home: o.Home(), Name: o.Name, ID: o.ID}
}

// Chunk is the text of the object as a document.
func (o Object) Chunk() yamledit.Chunk {
	return yamledit.Chunk{File: o.Title(), Bytes: o.Text, Served: true}
}

// path is that of the object on the API.
func (o Object) path() string {
	return kube.Path(o.Kind.APIVersion(), "clusters", o.Namespace, o.Name)
}

// resource is what rights and messages call objects of a kind.
func resource(k transform.ObjectKind) string { return "clusters." + k.Group }

// head is as much of a cluster's object as shows which one it is.
type head struct {
	Kind              string `json:"kind"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		RKEConfig   *json.RawMessage `json:"rkeConfig"`
		Engine      *json.RawMessage `json:"rancherKubernetesEngineConfig"`
		DisplayName string           `json:"displayName"`
	} `json:"spec"`
	Status struct {
		ClusterName string `json:"clusterName"`
	} `json:"status"`
}

// read reads an object of a kind.
func read(kind transform.ObjectKind, raw []byte) (Object, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil || h.Kind != "Cluster" || h.Name == "" || h.UID == "" {
		return Object{}, errors.New("the response is not a Cluster; check the server at this address")
	}
	o := Object{
		Kind: kind, Namespace: h.Namespace, Name: h.Name, Display: h.Name, ID: h.Status.ClusterName,
		UID: string(h.UID), Labels: h.Labels, engine: h.Spec.Engine != nil, planned: h.Spec.RKEConfig != nil, Raw: raw, Text: written(raw),
	}
	if !kind.Namespaced {
		o.Display, o.ID = h.Spec.DisplayName, h.Name
	}
	return o, nil
}

// points reports whether the object may only point to the one of a cluster that RKE makes.
func (o Object) points() bool { return !o.planned && engineID.MatchString(o.ID) }

// written returns an object as people write it, without what the server keeps: the text of a cluster is the same until
// someone changes the cluster. Values stay the text that they are. It is JSON with metadata, else it was not read.
func written(raw []byte) []byte {
	object, metadata := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &object)
	_ = json.Unmarshal(object["metadata"], &metadata)
	delete(object, "status")
	for _, key := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, key)
	}
	object["metadata"] = json.RawMessage(yamledit.JSON(metadata))
	return []byte(yamledit.IndentedJSON(object))
}

// Around reads what shows whether an object may be changed now; how far its last
// change has come is for Rollout.
func (s *Server) Around(ctx context.Context, o Object) (rollout.Change, error) {
	seen := rollout.Change{Title: o.Title(), Object: o.Raw}
	if !o.Kind.Planned {
		return seen, nil
	}
	var err error
	if seen.ControlPlane, err = s.controlPlane(ctx, o); err != nil {
		return seen, s.explained(err)
	}
	seen.Infrastructure, err = s.namespaced(ctx, o, "cluster.x-k8s.io/v1beta1", "clusters", o.Name, "Cluster")
	return seen, s.explained(err)
}

// clusterLabel names the cluster of a Machine.
const clusterLabel = "cluster.x-k8s.io/cluster-name"

// Rollout looks at what Rancher made of the last change of a cluster.
func (s *Server) Rollout(ctx context.Context, o Object) (seen rollout.Objects, err error) {
	defer func() { err = s.explained(err) }()
	if !o.Kind.Planned {
		now, err := s.Get(ctx, o)
		if err == nil {
			seen.Engine, err = rollout.ReadEngine(now.Raw)
		}
		return seen, err
	}
	raw, err := s.controlPlane(ctx, o)
	if err == nil && raw != nil {
		seen.ControlPlane, err = rollout.ReadControlPlane(raw)
	}
	if err != nil {
		return seen, err
	}
	if seen.Machines, err = s.Machines(ctx, o); err != nil {
		return seen, err
	}
	return seen, observe.Plans(ctx, s.local, seen.Machines)
}

// controlPlane reads the RKEControlPlane of a cluster; nil where there is none.
func (s *Server) controlPlane(ctx context.Context, o Object) ([]byte, error) {
	return s.namespaced(ctx, o, "rke.cattle.io/v1", "rkecontrolplanes", o.Name, "RKEControlPlane")
}

// namespaced reads an object in the namespace of a cluster, which need not be there.
func (s *Server) namespaced(ctx context.Context, o Object, version, resource, name, kind string) ([]byte, error) {
	group, _, _ := strings.Cut(version, "/")
	a, err := s.local.Object(ctx, kube.Request{What: "get " + resource + "." + group, Method: http.MethodGet, Path: kube.Path(version, resource, o.Namespace, name)}, kind)
	return kube.Found(a.Body, err)
}

// MachineConfig reads a machine configuration of pools on AWS, by its name; nil where there is none.
func (s *Server) MachineConfig(ctx context.Context, o Object, name string) ([]byte, error) {
	return s.namespaced(ctx, o, "rke-machine-config.cattle.io/v1", aws.MachineConfigs, name, aws.MachineConfigKind)
}

// Machines lists the machines of a cluster, without their plans.
func (s *Server) Machines(ctx context.Context, o Object) ([]rollout.Machine, error) {
	r := kube.Resource{
		Version: "cluster.x-k8s.io/v1beta1", Name: "machines", Namespace: o.Namespace, Kind: "MachineList",
		Options: metav1.ListOptions{LabelSelector: clusterLabel + "=" + o.Name},
	}
	list, err := kube.CollectAs(ctx, s.local, r, rollout.ReadMachine)
	if err != nil {
		return nil, s.explained(err)
	}
	slices.SortFunc(list, func(a, b rollout.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Stale means that an object is not the one any more that was read. Nothing was
// written.
type Stale struct {
	Title string
	What  string // "has changed in the meantime"
	// Rewritten means that what the change is made of means what it meant, and that
	// only its form is another one: Rancher rewrites objects by itself. A caller that reads
	// it again can make the same change of it.
	Rewritten bool
}

func (s *Stale) Error() string {
	return fmt.Sprintf("%s: it %s; nothing was written: plan again, and run the command again", s.Title, s.What)
}

// ExitCode is that of a refusal: nothing was written.
func (s *Stale) ExitCode() transform.ExitCode { return transform.ExitRefused }

var (
	// ErrLost means that it is not known whether a change was written.
	ErrLost = transform.NewError(transform.ExitFailed, "it is not known whether the change was written")
	// ErrRejected means that the server does not take a change: it is not valid, or a webhook
	// denies it. Nothing was written.
	ErrRejected = transform.NewError(transform.ExitRefused, "the server rejected the change, nothing was written")
	// ErrAltered means that the server has written something else than the change.
	ErrAltered = transform.NewError(transform.ExitFailed, "the change was written, and "+altered)
)

// altered is for unknown fields, which the server drops, and for webhooks.
const altered = "the server did not store all of it: a webhook, or its schema, changed it"

func rejection(o Object, err error) error {
	return fmt.Errorf("%s: %w: %w; correct the object, or ask the administrators of this Rancher", o.Title(), ErrRejected, err)
}

// Patch changes an object, and returns it as the server has it then and what the
// server has to say about the change. With dryRun the server does all but keep it.
// alike reports what is the same to Rancher, whose webhook writes what is written in
// another form.
// It fails with *Stale where the object changed since it was read, with ErrRejected
// where the server does not take the change, with ErrAltered where it makes another one
// of it, and with ErrLost where no answer shows what became of it.
func (s *Server) Patch(ctx context.Context, o Object, p jsonpatch.Patch, alike jsonpatch.Alike, dryRun bool) (Object, []string, error) {
	if len(p) == 0 {
		return o, nil, nil
	}
	q := url.Values{"fieldManager": {kube.Program}}
	if dryRun {
		q.Set("dryRun", "All")
	}
	r := kube.Request{What: "patch " + resource(o.Kind), Method: http.MethodPatch, Query: q, Body: p.Bytes(), ContentType: jsonpatch.ContentType}
	now, warnings, err := s.request(ctx, o, r)
	switch {
	case err != nil:
		now, meaning := s.afterFailure(ctx, o, p, alike, err)
		if dryRun && errors.Is(meaning, ErrLost) { // nothing is kept of it in any case
			meaning = err
		}
		return now, warnings, meaning
	case p.Applied(now.Raw, alike):
		return now, warnings, nil
	case dryRun:
		return now, warnings, rejection(o, errors.New(altered))
	}
	return now, warnings, fmt.Errorf("%s: %w; check the object and the warnings of the server, before anything else is changed", o.Title(), ErrAltered)
}

// afterFailure reports what a failed request means. A webhook or a policy denies a change only when the
// tests of the patch held, so no earlier try was written either. A request that is made again
// after its answer got lost fails because of itself: then the object shows it.
func (s *Server) afterFailure(ctx context.Context, o Object, p jsonpatch.Patch, alike jsonpatch.Alike, failure error) (Object, error) {
	f, refused := errors.AsType[*kube.Failure](failure)
	switch {
	case kube.HasStatus(failure, http.StatusNotFound):
		return o, &Stale{Title: o.Title(), What: "is gone"}
	case refused && f.NotTaken(), kube.HasStatus(failure, http.StatusBadRequest):
		return o, rejection(o, failure)
	case errors.As(failure, new(*kube.Denied)), kube.HasStatus(failure, http.StatusUnauthorized, http.StatusForbidden):
		return o, s.explained(failure)
	case !kube.HasStatus(failure, http.StatusConflict, http.StatusUnprocessableEntity):
		return o, fmt.Errorf("%s: %w (%w); plan again, which shows it, and run the command again", o.Title(), ErrLost, failure)
	}
	now, err := s.Get(ctx, o)
	switch {
	case err != nil:
		return o, err
	case p.Applied(now.Raw, alike):
		return now, nil
	case p.Fits(now.Raw, nil) && !kube.HasStatus(failure, http.StatusConflict):
		return now, rejection(o, failure) // the object is as it was
	}
	return now, &Stale{o.Title(), "has changed in the meantime", p.Fits(now.Raw, alike)}
}

// tries is how often a change is made of an object that Rancher keeps rewriting.
const tries = 5

// Again makes a change. Where the object means what it meant, and Rancher has written it
// in another form since it was read, next reads it and makes the change of what is there
// now; what is not the same change is not made.
func Again[T any](change T, do func(T) error, next func() (T, error), same func(before, now T) bool) error {
	for n := 1; ; n++ {
		err := do(change)
		if stale, is := errors.AsType[*Stale](err); n == tries || !is || !stale.Rewritten {
			return err
		}
		now, failed := next()
		switch {
		case failed != nil:
			return failed
		case !same(change, now):
			return err
		}
		change = now
	}
}
