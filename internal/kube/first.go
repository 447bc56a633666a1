// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rke-lm/rke-lm/transform/redact"
)

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

// last is when a request is tried last, which began and may be tried until an end, and whose result is err.
func (f *first) last(began, end time.Time, err error) time.Time {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		f.answered.Store(true)
	}
	if f.answered.Load() {
		return end
	}
	f.refused.Do(func() {
		if f.began = began; f.note != nil {
			f.note("cannot connect to " + f.where + ": " + redact.Text(op.Error()) + "; trying again")
		}
	})
	if f.limit > 0 {
		end = slices.MinFunc([]time.Time{end, f.began.Add(f.limit)}, time.Time.Compare)
	}
	return end
}
