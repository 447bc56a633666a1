// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The acts of a run.
const (
	actPatch    = "patch"
	actSnapshot = "etcd-snapshot"
	actKeep     = "keep-snapshot"
	actCordon   = "cordon"
	actRelease  = "uncordon"
	actTaint    = "taint-uninitialized"
	actLink     = "link-machine"
	actEvict    = "evict"
	actRestart  = "restart"
	actApply    = "apply"
	actDelete   = "delete"
	actHelm     = "helm"
)

// grace is for how long a request continues that was in progress when the run was told
// to end: without its answer it is not known what was written.
const grace = 20 * time.Second

// write makes a change of an object: under the lock, and with its intent in the audit log before. The digest is that of
// what is sent; "" where the act has no text.
func (r *run) write(ctx context.Context, act string, object Ref, digest string, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.Permit != nil && act != actRelease && act != actDelete { // a run may always remove what it has left
		if err := r.Permit(); err != nil {
			return err
		}
	}
	if err := r.lock.confirm(ctx); err != nil {
		return err
	}
	e := newEntry(Entry{
		ID: uuid.NewString(), Run: r.lock.identity, Who: r.User, Cluster: r.ref(), Verb: r.verb, Stage: r.progress.stage,
		Act: act, Object: object, Digest: digest, Phase: Intent,
	})
	if err := r.audit.add(e); err != nil {
		return err
	}
	own, end := graceful(ctx)
	defer end()
	err := do(own)
	r.progress.wrote = r.progress.wrote || err == nil || outcome(err) == resultUnknown
	e.Result = outcome(err)
	if err != nil {
		e.Error = redact.Text(err.Error())
	}
	if err == nil {
		r.emit(Event{Type: Written, Message: act + " " + object.String()})
	}
	return errors.Join(err, r.conclude(own, e))
}

// conclude writes the result of an act, into the log and as an Event.
func (r *run) conclude(ctx context.Context, e Entry) error {
	e = newEntry(e)
	e.Phase = Result
	err := r.audit.add(e)
	r.event(ctx, e)
	return err
}

// graceful returns a context that lives on for a while when its parent ends.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		kube.Pause(own, grace)
		cancel()
	})
	return own, func() { stop(); cancel() }
}

// outcome is the result of an act, by its error. Only a server that refused, and a
// test that failed, tell that nothing was written.
func outcome(err error) string {
	var refused *kube.Failure
	switch {
	case err == nil:
		return resultDone
	case errors.Is(err, rancher.ErrLost):
		return resultUnknown
	case errors.As(err, new(*rancher.Stale)), errors.Is(err, rancher.ErrRejected), errors.As(err, new(*kube.Denied)), errors.As(err, &refused) && (refused.Code/100 == 4 || refused.NotTaken()):
		return resultFailed
	}
	return resultUnknown
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// change is the cluster's object before and after it.
type change struct{ before, after *yamledit.Document }

// patch turns the object into its next version. It was planned from the one that was
// read last: the patch refuses any other one. Where that is the same to Rancher, which
// wrote it in another form, the same change is made again of what is there now. report
// is called before the change is sent, as it may be written, and with what became of it.
func (r *run) patch(ctx context.Context, act string, c change, again func(context.Context) (change, error), report func(transition.Edit)) error {
	return rancher.Again(c,
		func(c change) error { return r.patchOnce(ctx, act, c, report) },
		func() (change, error) { return again(ctx) },
		func(before, now change) bool { return r.Planner.Format.SameSpec(before.after, now.after) })
}

func (r *run) patchOnce(ctx context.Context, act string, c change, report func(transition.Edit)) error {
	p, err := jsonpatch.Diff(c.before.Bytes(), c.after.Bytes())
	if err != nil {
		return err
	}
	return r.write(ctx, act, r.ref(), p.Digest(), func(ctx context.Context) error {
		report(transition.MayBeWritten)
		now, warnings, err := r.Server.Patch(ctx, r.Object, p, r.Planner.Format.Alike, false)
		report(became(err))
		for _, text := range warnings {
			r.note("Rancher reports: " + text)
		}
		if err == nil {
			r.Object = now
		}
		return err
	})
}

// became reports what became of a change of the object.
func became(err error) transition.Edit {
	switch {
	case err == nil, errors.Is(err, rancher.ErrAltered):
		return transition.Written
	case outcome(err) == resultFailed:
		return transition.NotWritten
	}
	return transition.MayBeWritten
}
