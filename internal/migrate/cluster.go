// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
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
	now, err := c.server.Get(ctx, c.object)
	if err != nil {
		return nil, err
	}
	c.object = now
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
