// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Patched is what became of the object of a cluster.
type Patched struct {
	Findings []transform.Finding // that were accepted
	Diff     string              // of a dry run
	Warnings []string            // of the API server
}

// Patch brings the object of a live cluster to what was decided, if no precondition is missing. dry is a dry run
// of the client, and server one of the API server.
func (a Apply) Patch(ctx context.Context, r Result[Applied], dry, server bool) (p Patched, err error) {
	err = transform.Guard(r.Place(), func() (err error) {
		p, err = a.patch(ctx, change{r.Cluster, r.Made.After[0]}, r.Target, dry, server)
		return err
	})
	return p, err
}

func (a Apply) patch(ctx context.Context, c change, t transform.Target, dry, server bool) (p Patched, err error) {
	if err := c.Live.Review(ctx, "apply", t); err != nil {
		return p, err
	}
	findings, err := c.Preconditions(ctx, t)
	if err != nil {
		return p, err
	}
	if err := preconditions.Check(c.Docs[0].File(), findings); err != nil {
		return p, err
	}
	p.Findings = findings
	if _, err := c.patch(); err != nil {
		return p, err
	}
	if dry {
		p.Diff = report.Diff(c.Docs[0], c.after)
	}
	if dry && !server {
		return p, nil
	}
	// Where the object is the same to Rancher, which wrote it in another form since it was read, the same change
	// is made again of what is there now.
	err = rancher.Again(c,
		func(c change) error { return c.send(ctx, server, &p) },
		func() (change, error) { return a.now(ctx, c.Cluster, t) },
		func(before, now change) bool { return now.after != nil && c.Distro.SameSpec(before.after, now.after) })
	return p, err
}

// change is an object, and the version of it that it is brought to.
type change struct {
	clusters.Cluster
	after *yamledit.Document // nil for none
}

// now reads the object again, and makes the same change of it.
func (a Apply) now(ctx context.Context, f clusters.Cluster, t transform.Target) (c change, err error) {
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
	if made.After != nil {
		c.after = made.After[0]
	}
	return c, err
}

func (c change) send(ctx context.Context, server bool, made *Patched) error {
	p, err := c.patch()
	if err != nil {
		return err
	}
	_, warnings, err := c.Live.Server.Patch(ctx, c.Live.Object, p, c.Distro.Alike, server)
	made.Warnings = append(made.Warnings, warnings...)
	return err
}

func (c change) patch() (jsonpatch.Patch, error) {
	p, err := jsonpatch.Diff(c.Docs[0].Bytes(), c.after.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Docs[0].File(), err)
	}
	return p, nil
}
