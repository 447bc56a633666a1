// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"iter"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Each calls work for every item, on all cores, and returns the results in the order of the items;
// none once ctx has ended.
func Each[T, R any](ctx context.Context, items []T, work func(T) R) []R {
	results := slices.Collect(InOrder(ctx, runtime.GOMAXPROCS(0), items, work))
	if ctx.Err() != nil {
		return nil
	}
	return results
}

// InOrder calls work for every item, for so many at once, and yields the results in the order of
// the items.
//
// It ends early when ctx does or when the loop over the results is left; work that was begun is
// then not waited for: it may read a stream to which no one writes.
func InOrder[T, R any](ctx context.Context, most int, items []T, work func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		results := make([]chan R, len(items))
		for i := range results {
			results[i] = make(chan R, 1)
		}
		go func() {
			var group errgroup.Group
			group.SetLimit(most)
			for i := 0; i < len(items) && ctx.Err() == nil; i++ {
				group.Go(func() error {
					if ctx.Err() == nil {
						results[i] <- work(items[i])
					}
					return nil
				})
			}
		}()
		for _, result := range results {
			select {
			case r := <-result:
				if ctx.Err() != nil || !yield(r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
