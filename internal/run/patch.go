// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// toObject brings the object of a live cluster to what was decided, if no precondition is missing.
func (a Apply) toObject(ctx context.Context, r Result[Applied]) error {
	made := r.Made
	err := transform.Guard(r.Place(), func() error {
		return a.patch(ctx, change{r.Cluster, revised(r.Docs, made.After)[0]}, r.Target, &made.Applied)
	})
	done := "applied; Rancher now brings it to the machines, one at a time"
	switch {
	case err != nil:
		return err
	case a.Server:
		done = "would be applied (server dry run)"
	case a.Files.DryRun:
		done = "would be applied"
	}
	made.Became = report.Outcome{Name: made.Name, What: made.What + " " + done}
	return nil
}

func (a Apply) patch(ctx context.Context, c change, t transform.Target, made *report.Applied) error {
	if err := c.Live.Review(ctx, "apply", t); err != nil {
		return err
	}
	findings, err := c.Preconditions(ctx, t)
	if err := cmp.Or(err, rollout.Refuse(c.Docs[0].File(), findings)); err != nil {
		return err
	}
	made.Accepted = findings
	if _, err := c.patch(); err != nil {
		return err
	}
	if a.Files.DryRun {
		made.Diffs = []string{report.Diff(c.Docs[0], c.after)}
	}
	if a.Files.DryRun && !a.Server {
		return nil
	}
	// Where the object is the same to Rancher, which wrote it in another form since it was read, the same change
	// is made again of what is there now.
	return rancher.Again(c,
		func(c change) error { return c.send(ctx, a.Server, made) },
		func() (change, error) { return a.now(ctx, c.Cluster, t) },
		func(before, now change) bool { return now.after != nil && c.Format.SameSpec(before.after, now.after) })
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
	_, after, err := a.next(f, t)
	if after != nil {
		c.after = after[0]
	}
	return c, err
}

func (c change) send(ctx context.Context, server bool, made *report.Applied) error {
	p, err := c.patch()
	if err != nil {
		return err
	}
	_, warnings, err := c.Live.Server.Patch(ctx, c.Live.Object, p, c.Format.Alike, server)
	made.Warnings = append(made.Warnings, lists.Map(warnings, func(w string) string { return c.Docs[0].File() + ": the server warns: " + w })...)
	return err
}

func (c change) patch() (jsonpatch.Patch, error) {
	p, err := jsonpatch.Diff(c.Docs[0].Bytes(), c.after.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Docs[0].File(), err)
	}
	return p, nil
}
