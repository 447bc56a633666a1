// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// outage is a time in which a cluster that was seen before cannot be seen. Nothing
// is judged meanwhile.
type outage struct {
	notes  io.Writer
	lost   error     // why it cannot be seen; nil while it can
	seen   bool      // it was seen once
	denied time.Time // when it began to refuse what it had allowed
}

// deniedTime is for how long a cluster may refuse what it has allowed: a token or
// a role that is replaced is gone for a moment.
const deniedTime = defaultPatience

// over notes that the cluster was seen.
func (g *outage) over() {
	if g.lost != nil {
		fmt.Fprintln(g.notes, "seen again")
	}
	g.lost, g.seen, g.denied = nil, true, time.Time{}
}

// retryable notes why the cluster was not seen, and reports whether that may pass.
func (g *outage) retryable(err error) bool {
	first := g.lost == nil
	g.lost = err
	if !g.passes(err) {
		return false
	}
	if first {
		fmt.Fprintln(g.notes, "unknown from now on, trying again:", err)
	}
	return true
}

func (g *outage) passes(err error) bool {
	var denied *kube.Denied
	if !errors.As(err, &denied) {
		return g.seen || !kube.Unidentified(err)
	}
	if g.denied.IsZero() {
		g.denied = time.Now()
	}
	return g.seen && time.Since(g.denied) < deniedTime
}
