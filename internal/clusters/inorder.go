// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// InOrder calls work for every job, on all cores, and yields the results in the order of the jobs.
//
// It ends early when ctx does or when the loop over the results is left; jobs that were begun are
// then not waited for.
func InOrder[J, R any](ctx context.Context, jobs []J, work func(J) R) iter.Seq[R] {
	return InOrderBy(ctx, runtime.GOMAXPROCS(0), jobs, work)
}

// InOrderBy does the same with a number of jobs at once, for work that waits for a server.
func InOrderBy[J, R any](ctx context.Context, most int, jobs []J, work func(J) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		results := make([]chan R, len(jobs))
		for i := range results {
			results[i] = make(chan R, 1)
		}
		go func() {
			var group errgroup.Group
			group.SetLimit(most)
			for i := 0; i < len(jobs) && ctx.Err() == nil; i++ {
				group.Go(func() error {
					if ctx.Err() == nil {
						results[i] <- work(jobs[i])
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
