// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// Outage is a time in which a cluster that was seen before cannot be seen. Nothing
// is checked meanwhile.
type Outage struct {
	Notes io.Writer // says when one begins and ends
	// Denials is for how long a cluster may refuse what it has allowed: a token or a
	// role that is replaced is gone for a moment.
	Denials time.Duration
	Lost    error // why the cluster cannot be seen; nil while it can

	seen   bool      // it was seen once
	denied time.Time // when it began to refuse what it had allowed
}

// Over notes that the cluster was seen.
func (o *Outage) Over() {
	if o.Lost != nil {
		fmt.Fprintln(o.Notes, "seen again")
	}
	o.Lost, o.seen, o.denied = nil, true, time.Time{}
}

// Retryable notes why the cluster was not seen, and reports whether that may pass.
func (o *Outage) Retryable(err error) bool {
	first := o.Lost == nil
	o.Lost = err
	if !o.passes(err) {
		return false
	}
	if first {
		fmt.Fprintln(o.Notes, "unknown from now on, trying again:", err)
	}
	return true
}

func (o *Outage) passes(err error) bool {
	if !errors.As(err, new(*kube.Denied)) {
		return o.seen || !kube.NoCredentials(err)
	}
	if o.denied.IsZero() {
		o.denied = time.Now()
	}
	return o.seen && time.Since(o.denied) < o.Denials
}
