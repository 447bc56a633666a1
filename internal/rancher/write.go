// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
)

// Stale means that an object is not the one any more that was read. Nothing was
// written.
type Stale struct {
	Title string
	What  string // "has changed in the meantime"
	// Rewritten means that what the change is made of means what it meant, and that
	// only its form is another one: Rancher rewrites objects by itself. A caller that reads
	// it again can make the same change of it.
	Rewritten bool
}

func (s *Stale) Error() string {
	return fmt.Sprintf("%s: it %s; nothing was written: plan again, and run the command again", s.Title, s.What)
}

// ExitCode is that of a refusal: nothing was written.
func (s *Stale) ExitCode() transform.ExitCode { return transform.ExitRefused }

var (
	// ErrLost means that it is not known whether a change was written.
	ErrLost = transform.NewError(transform.ExitFailed, "it is not known whether the change was written")
	// ErrRejected means that the server does not take a change: it is not valid, or a webhook
	// denies it. Nothing was written.
	ErrRejected = transform.NewError(transform.ExitRefused, "the server rejected the change, nothing was written")
	// ErrAltered means that the server has written something else than the change.
	ErrAltered = transform.NewError(transform.ExitFailed, "the change was written, and "+altered)
)

// altered is for unknown fields, which the server drops, and for webhooks.
const altered = "the server did not store all of it: a webhook, or its schema, changed it"

func lost(o Object, err error) error {
	return fmt.Errorf("%s: %w (%w); plan again, which shows it, and run the command again", o.Title(), ErrLost, err)
}

func rejection(o Object, err error) error {
	return fmt.Errorf("%s: %w: %w; correct the object, or ask the administrators of this Rancher", o.Title(), ErrRejected, err)
}

// Patch changes an object, and returns it as the server has it then and what the
// server has to say about the change. With dryRun the server does all but keep it.
// alike reports what is the same to Rancher, whose webhook writes what is written in
// another form.
// It fails with *Stale where the object changed since it was read, with ErrRejected
// where the server does not take the change, with ErrAltered where it makes another one
// of it, and with ErrLost where no answer shows what became of it.
func (s *Server) Patch(ctx context.Context, o Object, p jsonpatch.Patch, alike jsonpatch.Alike, dryRun bool) (Object, []string, error) {
	if len(p) == 0 {
		return o, nil, nil
	}
	q := url.Values{"fieldManager": {kube.Program}}
	if dryRun {
		q.Set("dryRun", "All")
	}
	what := "patch " + resource(o.Kind)
	a, err := PastGate(ctx, s, o.path(), func() (kube.Answer, error) {
		r := kube.Request{What: what, Method: http.MethodPatch, Path: o.path(), Query: q, Body: p.Bytes(), ContentType: jsonpatch.ContentType}
		return s.local.Object(ctx, r, "Cluster")
	})
	if err != nil {
		now, meaning := s.afterFailure(ctx, o, p, alike, err)
		if dryRun && errors.Is(meaning, ErrLost) { // nothing is kept of it in any case
			meaning = err
		}
		return now, kube.Warnings(err), meaning
	}
	now, _, err := read(o.Kind, a.Body)
	if err != nil {
		err = &kube.Unreached{What: what, Err: err}
		if !dryRun {
			err = lost(o, err)
		}
		return o, a.Warnings, err
	}
	switch {
	case p.Applied(now.Raw, alike):
		return now, a.Warnings, nil
	case dryRun:
		return now, a.Warnings, rejection(o, errors.New(altered))
	}
	return now, a.Warnings, fmt.Errorf("%s: %w; check the object and the warnings of the server, before anything else is changed", o.Title(), ErrAltered)
}

// afterFailure reports what a failed request means. A webhook or a policy denies a change only when the
// tests of the patch held, so no earlier try was written either. A request that is made again
// after its answer got lost fails because of itself: then the object shows it.
func (s *Server) afterFailure(ctx context.Context, o Object, p jsonpatch.Patch, alike jsonpatch.Alike, failure error) (Object, error) {
	f, refused := errors.AsType[*kube.Failure](failure)
	switch {
	case kube.HasStatus(failure, http.StatusNotFound):
		return o, &Stale{Title: o.Title(), What: "is gone"}
	case refused && f.NotTaken(), kube.HasStatus(failure, http.StatusBadRequest):
		return o, rejection(o, failure)
	case errors.As(failure, new(*kube.Denied)), kube.HasStatus(failure, http.StatusUnauthorized, http.StatusForbidden):
		return o, s.explained(failure)
	case !kube.HasStatus(failure, http.StatusConflict, http.StatusUnprocessableEntity):
		return o, lost(o, failure)
	}
	now, err := s.Get(ctx, o)
	switch {
	case err != nil:
		return o, err
	case p.Applied(now.Raw, alike):
		return now, nil
	case p.Fits(now.Raw, nil) && !kube.HasStatus(failure, http.StatusConflict):
		return now, rejection(o, failure) // the object is as it was
	}
	return now, &Stale{o.Title(), "has changed in the meantime", p.Fits(now.Raw, alike)}
}

// tries is how often a change is made of an object that Rancher keeps rewriting.
const tries = 5

// Again makes a change. Where the object means what it meant, and Rancher has written it
// in another form since it was read, next reads it and makes the change of what is there
// now; what is not the same change is not made.
func Again[T any](change T, do func(T) error, next func() (T, error), same func(before, now T) bool) error {
	for n := 1; ; n++ {
		err := do(change)
		if stale, is := errors.AsType[*Stale](err); n == tries || !is || !stale.Rewritten {
			return err
		}
		now, failed := next()
		switch {
		case failed != nil:
			return failed
		case !same(change, now):
			return err
		}
		change = now
	}
}
