// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// change is the cluster's object before and after it.
type change struct{ before, after *yamledit.Document }

// patch turns the object into its next version. It was planned from the one that was
// read last: the patch refuses any other one. Where that is the same to Rancher, which
// wrote it in another form, the same change is made again of what is there now. tell
// is called before the change is sent, as it may be written, and with what became of it.
func (w *writer) patch(ctx context.Context, act string, c change, again func(context.Context) (change, error), tell func(route.Edit)) error {
	return rancher.Again(c,
		func(c change) error { return w.patchOnce(ctx, act, c, tell) },
		func() (change, error) { return again(ctx) },
		func(before, now change) bool { return w.cluster.planner.Distro.SameSpec(before.after, now.after) })
}

func (w *writer) patchOnce(ctx context.Context, act string, c change, tell func(route.Edit)) error {
	p, err := jsonpatch.Diff(c.before.Bytes(), c.after.Bytes())
	if err != nil {
		return err
	}
	return w.write(ctx, write{act: act, object: w.cluster.ref(), digest: p.Digest(), do: func(ctx context.Context) error {
		tell(route.MayBeWritten)
		now, warnings, err := w.cluster.server.Patch(ctx, w.cluster.object, p, w.cluster.planner.Distro.Alike, false)
		tell(became(err))
		for _, text := range warnings {
			w.events.note("Rancher reports: " + text)
		}
		if err == nil {
			w.cluster.object = now
		}
		return err
	}})
}

// became reports what became of a change of the object.
func became(err error) route.Edit {
	switch {
	case err == nil, errors.As(err, new(*rancher.Altered)):
		return route.Written
	case outcome(err) == resultFailed:
		return route.NotWritten
	}
	return route.MayBeWritten
}
