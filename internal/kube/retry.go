// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstPause = 200 * time.Millisecond
	longPause  = 5 * time.Second
	// unexpectedTime is for how long something else than an API server may answer: a
	// proxy whose server restarts has a page for that, and so has a wrong address.
	unexpectedTime = 5 * time.Second
)

// retry makes a request again and again while what is wrong may pass.
type retry struct {
	tokens *tokens
	// allowed is for how long.
	allowed time.Duration
	first   *first
	// reviewed means that all rights that are needed were there.
	reviewed atomic.Bool
}

// until returns the first answer of a request, or why there is none in time.
func (r *retry) until(ctx context.Context, optional bool, try func() (Answer, error)) (Answer, error) {
	began, unexpectedEnd := time.Now(), time.Time{}
	end := began.Add(r.allowed)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		a, err := try()
		last := r.first.last(began, end, err)
		if err == nil {
			return a, nil
		}
		if errors.As(err, new(*unexpected)) {
			if unexpectedEnd.IsZero() {
				unexpectedEnd, pause = time.Now().Add(unexpectedTime), firstPause
			}
			last = slices.MinFunc([]time.Time{last, unexpectedEnd}, time.Time.Compare)
		}
		wait, passes := r.passes(err, optional, pause)
		if ctx.Err() != nil || !passes || time.Now().Add(wait).After(last) {
			return a, err
		}
		if !Pause(ctx, wait) {
			return a, ctx.Err()
		}
	}
}

// passes reports whether an error may pass, and how long to wait. What no
// server said is the network's, which may come back; a certificate that is not
// trusted does not, nor do credentials that never were there: the program for them
// may ask a person each time. Credentials that are renewed do, and a webhook's own
// troubles; what a webhook does not take it takes at no later time either.
func (r *retry) passes(err error, optional bool, pause time.Duration) (time.Duration, bool) {
	var f *Failure
	if !errors.As(err, &f) {
		return pause, !errors.As(err, new(*TooLarge)) && !untrusted(err) && (r.tokens.given.Load() || !NoCredentials(err))
	}
	switch {
	case f.Code == http.StatusTooManyRequests, f.Code >= 500, f.Code == http.StatusNotFound && f.foreign(), f.by == byUnready:
		return max(pause, f.after), true
	case f.NotTaken():
		return 0, false
	case f.Code == http.StatusUnauthorized, f.by == byLogin:
		return pause, r.tokens.renewed || f.outdated
	case f.by == byGate:
		return pause, f.outdated
	case f.Code == http.StatusForbidden:
		return pause, r.reviewed.Load() && f.by == byAuthorizer && !optional
	}
	return 0, false
}

// first bounds the connections to a server that has not answered yet: it is more likely that its address is wrong,
// or that it is down, than that it restarts.
type first struct {
	limit time.Duration // 0 for that of all requests
	where string        // the server, for messages
	note  func(string)  // nil for none

	answered atomic.Bool
	refused  sync.Once
	began    time.Time // the first request that was refused
}

// Unconnected reports whether there was no connection; of the first one there is a note.
func Unconnected(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

// last is when a request is tried last, which began and may be tried until an end, and whose result is err.
func (f *first) last(began, end time.Time, err error) time.Time {
	if !Unconnected(err) {
		f.answered.Store(true)
	}
	if f.answered.Load() {
		return end
	}
	f.refused.Do(func() {
		if f.began = began; f.note != nil {
			_, what := networkError(err)
			f.note("cannot connect to " + f.where + ": " + what + "; trying again")
		}
	})
	if f.limit > 0 {
		end = slices.MinFunc([]time.Time{end, f.began.Add(f.limit)}, time.Time.Compare)
	}
	return end
}
