// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Live is an object of a Rancher.
type Live struct {
	Server  *rancher.Server
	Object  rancher.Object
	Version string // of the Rancher; "" where it cannot be read

	machines []rollout.Machine   // nil where they cannot be listed
	labels   *transform.Machines // theirs
}

// Name is how a command line names the cluster; "" for nil.
func (l *Live) Name() string {
	if l == nil {
		return ""
	}
	return l.Object.FullName()
}

// Rancher returns the clusters of a Rancher.
func (f Finder) Rancher(ctx context.Context, server *rancher.Server, version string, query rancher.Query) (results []Result) {
	objects, err := server.Find(ctx, query)
	var part *rancher.Incomplete
	switch {
	case err != nil && !errors.As(err, &part):
		return []Result{Failed(err)}
	case len(objects) == 0 && part == nil:
		return []Result{Failed(transform.NewError(transform.ExitRefused, rancher.ErrNone.Error()))}
	}
	for _, object := range objects {
		from := source.FromReader(object.Title(), nil)
		r := Result{File: from.Name, Ended: []source.Text{{Source: from}}}
		r.Err = transform.Guard(from.Name, func() (err error) {
			r.Cluster, err = f.OpenLive(ctx, &Live{Server: server, Object: object, Version: version})
			r.Sources = []source.Source{from}
			return err
		})
		results = append(results, r)
	}
	if part != nil {
		results = append(results, lists.Map(part.Unseen, func(u rancher.Unseen) Result { return Failed(fmt.Errorf("%s: %w", u.Title, u.Err)) })...)
	}
	return results
}

// OpenLive opens an object, and lists its machines: they show names of Nodes, and the machine
// classes where the object alone does not.
func (f Finder) OpenLive(ctx context.Context, l *Live) (Cluster, error) {
	_, c, err := f.Open(l.Object.Chunk())
	switch {
	case err != nil:
		return c, err
	case c.Docs == nil:
		return c, refused("%s: it is not %s", l.Object.Title(), f.Expected())
	}
	c.Live = l
	needed := c.Format.Live.ByMachines != nil && c.Format.Live.ByMachines(c.Docs[0])
	pools := c.Docs[0].Root().Get("spec", "rkeConfig", "machinePools").Items()
	if needed || l.Object.Kind.Planned && (f.Configs || len(pools) > 0) {
		c.Related = l.related(ctx, pools)
		if l.machines, err = l.Server.Machines(ctx, l.Object); err == nil {
			l.labels = new(transform.Machines(lists.Map(l.machines, func(m rollout.Machine) map[string]string { return m.Labels })))
		}
	}
	if !needed {
		err = nil // without permission the names are not known
	}
	return c, err
}

// related reads the machine configurations of pools: what cannot be read is not known.
func (l *Live) related(ctx context.Context, pools []yamledit.Node) (docs []*yamledit.Document) {
	for _, pool := range pools {
		if pool.StringAt("machineConfigRef", "kind") != aws.MachineConfigKind {
			continue
		}
		name := pool.StringAt("machineConfigRef", "name")
		if raw, err := l.Server.MachineConfig(ctx, l.Object, name); err == nil {
			if doc, err := yamledit.ParseString(name, string(raw)); err == nil {
				docs = append(docs, doc)
			}
		}
	}
	return docs
}

// hostNames completes what was read of host names: rancher-machine sets them for the machines of pools.
func (l *Live) hostNames(read transform.HostNames) transform.HostNames {
	of, known := transform.HostNames{}, len(read) > 0
	for _, m := range l.machines {
		if m.Node == "" {
			continue
		}
		of[m.Node] = read[m.Node]
		if ref := m.Infrastructure; ref.Name != "" && ref.Kind != "CustomMachine" {
			of[m.Node], known = ref.Name, true
		}
	}
	if !known || len(of) == 0 {
		return read
	}
	return of
}

// For completes the choices for a cluster: with the version of its Rancher, and its machines.
func (c Cluster) For(t transform.Target) transform.Target {
	t.Related = c.Related
	if c.Live != nil {
		t.RancherVersion = cmp.Or(t.RancherVersion, c.Live.Version)
		t.HostNames = c.Live.hostNames(t.HostNames)
		t.Machines = c.Live.labels
	}
	return t
}

// Objections are what the object of a live cluster itself says against changing it, and for a file
// that one in another folder describes the cluster as well.
func (c Cluster) Objections(t transform.Target) []transform.Finding {
	if c.Live == nil && c.twin != "" && !c.together {
		f := c.described().Finding()
		f.Severity, f.Fix = transform.Warning, "nothing, if each folder is for a Rancher of its own; or else remove one of them"
		return rules.DuplicateCluster.Report([]transform.Finding{f}, t.Accept)
	} else if c.Live == nil {
		return nil
	}
	return rollout.Preconditions(rollout.Change{Title: c.Live.Object.Title(), Object: c.Live.Object.Raw}, t.Accept)
}

// Preconditions returns the blocking findings of a change to a live cluster. How far its last
// change has rolled out is looked at unless that was accepted.
func (c Cluster) Preconditions(ctx context.Context, t transform.Target) ([]transform.Finding, error) {
	seen, err := c.Live.Server.Around(ctx, c.Live.Object)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.Accept, rollout.NotSettled) {
		objects, err := c.Live.Server.Rollout(ctx, c.Live.Object)
		wanted, failed := rollout.NewWanted(c.Format, c.Docs[0], c.Live.Object.Raw, t)
		if err = cmp.Or(err, failed); err != nil {
			return nil, err
		}
		seen.Progress = new(rollout.Evaluate(objects, wanted))
	}
	return rollout.Preconditions(seen, t.Accept), nil
}

// Review checks the permissions that apply needs, before anything is done. What a
// choice keeps from being looked at needs none.
func (l *Live) Review(ctx context.Context, t transform.Target) error {
	needed := rollout.Permissions("apply", l.Object.Subject())
	if slices.Contains(t.Accept, rollout.NotSettled) {
		needed = slices.DeleteFunc(needed, func(r rollout.Access) bool { return r.Resource == "secrets" || r.Resource == "machines" })
	}
	if err := l.Server.Review(ctx, needed); err != nil {
		return fmt.Errorf("%s: %w", l.Object.Title(), err)
	}
	return nil
}
