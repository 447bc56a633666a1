// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/route"
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
	return transform.Build(r.Planner.Distro, transform.Only(doc), r.Planner.Target)
}

func parse(o rancher.Object) (*yamledit.Document, error) {
	return transform.Parse(o.Chunk())
}

// edit writes the stage's document and waits until every machine has it.
func (r *Run) edit(ctx context.Context, l route.Transition, plan planning) error {
	say := func(e route.Edit) { r.edited = e }
	again := func(ctx context.Context) (version, error) {
		l, err := r.planned(ctx, l.Stage, plan)
		return version{l.From, l.To}, err
	}
	if err := r.patch(ctx, actPatch, version{l.From, l.To}, again, say); err != nil {
		return err
	}
	return r.settle(ctx)
}

// version is an object and the next version of it.
type version struct{ before, after *yamledit.Document }

// patch turns the object into its next version. It was planned from the one that was
// read last: the patch refuses any other one. Where that is the same to Rancher, which
// wrote it in another form, the same change is made again of what is there now. say
// hears, before it is sent, that the change may be written, and what became of it.
func (r *Run) patch(ctx context.Context, act string, v version, again func(context.Context) (version, error), say func(route.Edit)) error {
	return rancher.Again(v,
		func(v version) error { return r.patchOnce(ctx, act, v, say) },
		func() (version, error) { return again(ctx) },
		func(before, now version) bool { return r.Planner.Distro.SameSpec(before.after, now.after) })
}

func (r *Run) patchOnce(ctx context.Context, act string, v version, say func(route.Edit)) error {
	p, err := jsonpatch.Diff(v.before.Bytes(), v.after.Bytes())
	if err != nil {
		return err
	}
	return r.write(ctx, write{act: act, object: r.ref(), digest: p.Digest(), do: func(ctx context.Context) error {
		say(route.MayBeWritten)
		now, warnings, err := r.Server.Patch(ctx, r.Object, p, r.Planner.Distro.Alike, false)
		say(became(err))
		for _, w := range warnings {
			r.note("Rancher says: " + w)
		}
		if err == nil {
			r.Object = now
		}
		return err
	}})
}

// became says what became of a change of the object.
func became(err error) route.Edit {
	var altered *rancher.Altered
	switch {
	case err == nil, errors.As(err, &altered):
		return route.Written
	case outcome(err) == resultFailed:
		return route.NotWritten
	}
	return route.MayBeWritten
}

// wanted is what the object promises, as it is.
func (r *Run) wanted() (rollout.Wanted, error) {
	doc, err := parse(r.Object)
	if err != nil {
		return rollout.Wanted{}, err
	}
	w, err := rollout.NewWanted(r.Planner.Distro, doc, r.Object.Raw, r.Planner.Target)
	w.Nodes = r.nodes
	return w, err
}
