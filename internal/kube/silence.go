// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// answerTime is for how long one answer may take.
	answerTime = 2 * time.Minute
	// silentTime is for how long nothing of it may come.
	silentTime = 20 * time.Second
)

// errSilent ends a request over a connection that has no other end any more: without
// an answer the network itself says so after many minutes.
var errSilent = errors.New("the API server stopped responding in the middle")

// broken says why what came is no answer.
type broken struct{ err error }

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// timely ends a request when its answer takes too long, or when nothing has come of it
// for a while.
type timely struct{ next http.RoundTripper }

func (t *timely) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), answerTime)
	ctx, silence := context.WithCancelCause(ctx)
	timer := time.AfterFunc(silentTime, func() { silence(errSilent) })
	body := &timelyBody{ctx: ctx, timer: timer, stop: func() { timer.Stop(); silence(nil); cancel() }}
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		defer body.stop()
		return nil, body.ended(err)
	}
	body.ReadCloser, res.Body = res.Body, body
	return res, nil
}

type timelyBody struct {
	io.ReadCloser
	ctx   context.Context
	timer *time.Timer
	stop  func()
}

func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(silentTime)
	}
	return n, b.ended(err)
}

func (b *timelyBody) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}

// ended reports why a request was ended: an answer that ends after that is none, for a
// server ends one in good order when its client goes away.
func (b *timelyBody) ended(err error) error {
	if err != nil && b.ctx.Err() != nil {
		return &broken{context.Cause(b.ctx)}
	}
	return err
}
