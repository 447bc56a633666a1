// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/rancher"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// patchAll applies to clusters of a Rancher, each by itself. Each has its line at once: nothing
// else shows which objects a run has changed until it was ended.
func (a *applyOptions) patchAll(ctx context.Context, results []result[applied], all *collector) (states []worked) {
	for _, r := range results {
		if ctx.Err() != nil {
			return states
		}
		err := r.Err
		if made := r.made; made != nil {
			a.tell(made)
			switch {
			case made.after != nil:
				err = transform.Guard(r.Place(), func() error { return a.patch(ctx, r.Cluster, r.target, made.after[0], made.line) })
			case made.line != (line{}):
				fmt.Fprintln(a.err, made.line)
			}
		}
		all.fail(err)
		states = append(states, a.left(r, err, err != nil)...)
	}
	return states
}

// patch brings the object of a cluster to another version, if nothing speaks
// against it.
func (a *applyOptions) patch(ctx context.Context, f clusters.Cluster, t transform.Target, after *yamledit.Document, note line) error {
	if err := f.Live.Review(ctx, "apply", t); err != nil {
		return err
	}
	findings, err := f.Preconditions(ctx, t)
	if err != nil {
		return err
	}
	if err := preconditions.Check(f.Docs[0].File(), findings); err != nil {
		return err
	}
	outputs.WriteFindings(a.err, a.palette(a.err), findings, "") // what was accepted
	if _, err := patchOf(f, after); err != nil {
		return err
	}
	if a.files.DryRun {
		outputs.WriteDiff(a.out, a.palette(a.out), outputs.Diff(f.Docs[0], after))
	}
	if a.files.DryRun && !a.server {
		fmt.Fprintln(a.err, note, "would be applied")
		return nil
	}
	if err := a.send(ctx, f, t, after); err != nil {
		return err
	}
	if a.server {
		fmt.Fprintln(a.err, note, "would be applied (server dry run)")
		return nil
	}
	fmt.Fprintln(a.err, note, "applied; Rancher now brings it to the machines, one at a time")
	return nil
}

// change is an object, and the version of it that it is brought to.
type change struct {
	clusters.Cluster
	after *yamledit.Document // nil for none
}

// send changes the object. Where it is the same to Rancher, which wrote it in another
// form since it was read, the same change is made again of what is there now.
func (a *applyOptions) send(ctx context.Context, f clusters.Cluster, t transform.Target, after *yamledit.Document) error {
	return rancher.Again(change{f, after},
		func(c change) error { return a.sendOnce(ctx, c) },
		func() (change, error) { return a.now(ctx, f, t) },
		func(before, now change) bool { return now.after != nil && f.Distro.SameSpec(before.after, now.after) })
}

// now reads the object again, and makes the same change of it.
func (a *applyOptions) now(ctx context.Context, f clusters.Cluster, t transform.Target) (c change, err error) {
	again := *f.Live
	if again.Object, err = again.Server.Get(ctx, again.Object); err != nil {
		return c, err
	}
	f.Live = &again
	doc, err := transform.Parse(again.Object.Chunk())
	if err != nil {
		return c, err
	}
	f.Docs = transform.Only(doc)
	c = change{Cluster: f}
	made, err := a.next(f, t)
	if made.after != nil {
		c.after = made.after[0]
	}
	return c, err
}

func (a *applyOptions) sendOnce(ctx context.Context, c change) error {
	p, err := patchOf(c.Cluster, c.after)
	if err != nil {
		return err
	}
	_, warnings, err := c.Live.Server.Patch(ctx, c.Live.Object, p, c.Distro.Alike, a.server)
	for _, w := range warnings {
		fmt.Fprintf(a.err, "%s: the server warns: %s\n", c.Docs[0].File(), w)
	}
	return err
}

func patchOf(f clusters.Cluster, after *yamledit.Document) (jsonpatch.Patch, error) {
	p, err := jsonpatch.Diff(f.Docs[0].Bytes(), after.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Docs[0].File(), err)
	}
	return p, nil
}
