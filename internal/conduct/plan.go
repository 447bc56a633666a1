// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"context"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/course"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/observation"
	"github.com/rke-lm/rke-lm/transform/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

type observed = observation.Observation

// plan reads the object and plans from it.
func (r *Run) plan(ctx context.Context) (*transform.Plan, error) {
	now, err := r.Server.Get(ctx, r.Object)
	if err != nil {
		return nil, err
	}
	r.Object = now
	doc, err := parse(now)
	if err != nil {
		return nil, err
	}
	return transform.Build(r.Way.Distro, doc, r.Way.Target)
}

func parse(o rancher.Object) (*yamledit.Document, error) {
	return transform.Parse(o.Chunk())
}

// edit writes the stage's document and waits until every machine has it.
func (r *Run) edit(ctx context.Context, l course.Leg) error {
	if err := r.patch(ctx, actPatch, l.Before, l.After); err != nil {
		return err
	}
	r.edited = true
	return r.settle(ctx)
}

// patch turns the object into another version of it. It was planned from the
// version that was read last: the patch refuses any other one.
func (r *Run) patch(ctx context.Context, act string, before, after *yamledit.Document) error {
	p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
	if err != nil {
		return err
	}
	return r.write(ctx, write{act: act, object: r.ref(), digest: p.Digest(), do: func(ctx context.Context) error {
		now, warnings, err := r.Server.Patch(ctx, r.Object, p, false)
		for _, w := range warnings {
			r.note("Rancher says: " + w)
		}
		if err == nil {
			r.Object = now
		}
		return err
	}})
}

// wanted is what the object promises, as it is.
func (r *Run) wanted() (rollout.Wanted, error) {
	doc, err := parse(r.Object)
	if err != nil {
		return rollout.Wanted{}, err
	}
	w, err := rollout.NewWanted(r.Way.Distro, doc, r.Object.Raw, r.Way.Target)
	w.Nodes = r.nodes
	return w, err
}
