// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// cluster is what a run reads: the cluster's object in Rancher and its own API server.
type cluster struct {
	server   *rancher.Server
	object   rancher.Object // as it was read last
	planner  transition.Planner
	observer *observe.Observer
	nodes    map[string]string // names of Nodes by those of machines, before the first change
}

// client is that of a server.
func (c *cluster) client(server string) *kube.Client {
	if server == local {
		return c.server.Local()
	}
	return c.observer.Client
}

// local is what the audit log calls Rancher's own cluster.
const local = "local"

// ref names the cluster's object.
func (c *cluster) ref() Ref {
	return Ref{Server: local, Kind: "Cluster." + c.object.Kind.Group, Namespace: c.object.Namespace, Name: c.object.Name, UID: c.object.UID}
}

// own names an object of the cluster itself.
func (c *cluster) own(kind, namespace, name string) Ref {
	return Ref{Server: c.object.ID, Kind: kind, Namespace: namespace, Name: name}
}

// read reads the cluster's object.
func (c *cluster) read(ctx context.Context) (*yamledit.Document, error) {
	var err error
	if c.object, err = c.server.Get(ctx, c.object); err != nil {
		return nil, err
	}
	return c.document()
}

// document is the object as it was read last.
func (c *cluster) document() (*yamledit.Document, error) { return transform.Parse(c.object.Chunk()) }

// plan reads the object and plans from it.
func (c *cluster) plan(ctx context.Context) (*plan.Plan, error) {
	doc, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Build(c.planner.Format, transform.Only(doc), c.planner.Target)
}

// wanted is what the object promises, as it was read last.
func (c *cluster) wanted() (rollout.Wanted, error) {
	doc, err := c.document()
	if err != nil {
		return rollout.Wanted{}, err
	}
	w, err := rollout.NewWanted(c.planner.Format, doc, c.object.Raw, c.planner.Target)
	w.Nodes = c.nodes
	return w, err
}

// versions are those of the kinds that actions name, in lower case as kubectl takes them.
var versions = map[string]string{
	"configmap": "v1", "secret": "v1", "service": "v1", "namespace": "v1", "node": "v1", "daemonset": "apps/v1",
	"role": "rbac.authorization.k8s.io/v1", "rolebinding": "rbac.authorization.k8s.io/v1",
	"helmchart": "helm.cattle.io/v1", "etcdbackup": "management.cattle.io/v3",
}

// request makes a request about one object.
func (c *cluster) request(ctx context.Context, o Ref, q kube.Request) (kube.Answer, error) {
	kind, verb, name := strings.ToLower(o.Kind), strings.ToLower(q.Method), o.Name
	version, known := versions[kind]
	if !known {
		return kube.Answer{}, fmt.Errorf("%s: rke-lm does not know where objects of this kind lie; run the command of the stage manually, and this one again with --manual-done", o)
	}
	if q.Method == http.MethodPost {
		verb, name = "create", ""
	}
	q.What, q.Path = verb+" "+kind+"s", kube.Path(version, kind+"s", o.Namespace, name)
	if o.Namespace != "" {
		q.What += " in " + o.Namespace
	}
	a, err := rancher.PastGate(ctx, c.server, q.Path, func() (kube.Answer, error) { return c.client(o.Server).Do(ctx, q) })
	if kube.HasStatus(err, http.StatusNotFound) {
		return a, err
	}
	return a, kube.Refusal(err)
}

// exists looks whether an object is there, and no later one of its name where its UID is known.
func (c *cluster) exists(ctx context.Context, o Ref) (bool, error) {
	a, err := c.request(ctx, o, kube.Request{Method: http.MethodGet})
	raw, err := kube.Found(a.Body, err)
	if raw == nil || o.UID == "" {
		return raw != nil, err
	}
	var now metav1.PartialObjectMetadata
	err = json.Unmarshal(raw, &now)
	return string(now.UID) == o.UID, err
}

// existing returns the objects of some kinds with a name that are there.
func (c *cluster) existing(ctx context.Context, namespace, kinds, name string) (list []Ref, err error) {
	for kind := range strings.SplitSeq(kinds, ",") {
		o := c.own(kind, namespace, name)
		there, err := c.exists(ctx, o)
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, o)
		}
	}
	return list, nil
}

// remove deletes an object, and no later one of its name where its UID is known. One that is gone
// was deleted by an earlier try.
func (c *cluster) remove(ctx context.Context, o Ref) error {
	q := kube.Request{Method: http.MethodDelete}
	if o.UID != "" {
		q.Body = metav1.DeleteOptions{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: metav1.NewUIDPreconditions(o.UID),
		}
	}
	_, err := c.request(ctx, o, q)
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	if kube.HasStatus(err, http.StatusConflict) {
		if there, lost := c.exists(ctx, o); !there {
			return lost
		}
	}
	return err
}

// nodeNames lists the Nodes that a selector matches and that keep keeps.
func (c *cluster) nodeNames(ctx context.Context, selector string, keep func(*corev1.Node) bool) ([]string, error) {
	q := kube.Resource{Version: "v1", Name: "nodes", Kind: "NodeList", Options: metav1.ListOptions{LabelSelector: selector}}
	names, err := kube.Collect(ctx, c.observer.Client, q, func(n *corev1.Node, kept []string) []string {
		if keep(n) {
			kept = append(kept, n.Name)
		}
		return kept
	})
	return names, kube.Refusal(err)
}

// node reads a Node; nil where it is gone.
func (c *cluster) node(ctx context.Context, name string) (*yamledit.Document, error) {
	a, err := c.request(ctx, c.own("Node", "", name), kube.Request{Method: http.MethodGet})
	raw, err := kube.Found(a.Body, err)
	if raw == nil {
		return nil, err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, raw, "", "  "); err != nil {
		return nil, &kube.Unreached{What: "get nodes", Err: err}
	}
	return yamledit.Parse(yamledit.Chunk{File: "node " + name, Bytes: lines.Bytes()})
}

// patchNode sends a patch. Where it fails because an earlier try has done it, the
// Node shows that; one that is gone needs it no more.
func (c *cluster) patchNode(ctx context.Context, name string, p jsonpatch.Patch) error {
	_, err := c.request(ctx, c.own("Node", "", name), kube.Request{
		Method: http.MethodPatch, Query: url.Values{"fieldManager": {kube.Program}}, Body: p.Bytes(), ContentType: jsonpatch.ContentType,
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil
	case !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict):
		return err
	}
	now, lost := c.node(ctx, name)
	if lost == nil && now != nil && p.Applied(now.Bytes(), nil) {
		return nil
	}
	return err
}
