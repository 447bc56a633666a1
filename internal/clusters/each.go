// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Each calls work for every item, for so many at once, 0 for one a core, and returns the results in the order of the
// items; none once ctx has ended. Work that was begun is then not waited for: it may read a stream
// to which no one writes.
func Each[T, R any](ctx context.Context, most int, items []T, work func(T) R) []R {
	results, done := make([]R, len(items)), make(chan struct{})
	go func() {
		defer close(done)
		var group errgroup.Group
		group.SetLimit(cmp.Or(most, runtime.GOMAXPROCS(0)))
		for i, item := range items {
			group.Go(func() error {
				if ctx.Err() == nil {
					results[i] = work(item)
				}
				return nil
			})
		}
		group.Wait() // no work fails
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil
	}
	return results
}
