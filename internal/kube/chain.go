// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"net/http"
	"time"
)

// chain puts the RoundTrippers of this package over client-go's, which sends the
// credentials and unpacks answers. From there to the caller an answer is ended when it stays away,
// counted, read whole, distinguished from a refusal and from what is no answer to the request;
// then the request is returned, or made again.
//
// client-go would try again by itself what comes with a Retry-After header, ten times,
// and wait for as long as the server says. Here the time is bounded, and what has no
// such header may pass as well; so client-go never sees a refusal.
func chain(base http.RoundTripper, tokens *tokens, limit int64, retry *retry) http.RoundTripper {
	tokens.next = base
	var next http.RoundTripper = &bounded{&timely{tokens}, limit}
	retry.next = &whole{next, tokens}
	return retry
}

// call is what the RoundTrippers have to know of a request apart from the request.
type call struct {
	// read fails where an answer is none to the request.
	read func(Answer) error
	// optional means that a refusal is returned even where all rights were reviewed.
	optional bool
}

type callKey struct{}

func (c call) in(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, c) }

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// Pause waits, or returns false when the run is to end.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
