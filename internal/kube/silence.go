// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent ends a request over a connection that nobody is at the other end of:
// without an answer the network itself says so after many minutes.
var errSilent = errors.New("the API server stopped responding in the middle")

// listener ends a request when nothing has come of its answer for a while.
type listener struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func listen(ctx context.Context) (context.Context, listener) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, listener{time.AfterFunc(silentTime, func() { cancel(errSilent) }), cancel}
}

func (l listener) stop() {
	l.timer.Stop()
	l.cancel(nil)
}

// in reads an answer, and hears all that comes.
func (l listener) in(body io.Reader) io.Reader { return heard{body, l} }

type heard struct {
	io.Reader
	listener
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.timer.Reset(silentTime)
	}
	return n, err
}

// silent tells a request that was ended for silence from one that failed.
func silent(ctx context.Context, err error) error {
	if context.Cause(ctx) == errSilent {
		return errSilent
	}
	return err
}
