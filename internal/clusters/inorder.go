// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"iter"
	"runtime"
)

const (
	// queuedPerWorker is how many jobs may be queued for each worker: enough that
	// none is idle while the oldest one takes longer than the others.
	queuedPerWorker = 8
	// place is how many bytes of a job count as one more job.
	place = 64 << 10
)

// task is a queued job.
type task[J, R any] struct {
	job    J
	places int
	result chan R
}

// InOrder calls work for every job, on all cores, and yields the results in the
// order of the jobs. A job is taken when there is room for it, and leaves when
// its result was used; so memory does not depend on the number of jobs, and one
// that is larger than all the room is the only one queued.
//
// It ends early when ctx does or when the loop over the results is left; jobs
// that were begun are then not waited for.
func InOrder[J, R any](ctx context.Context, jobs iter.Seq[J], size func(J) int, work func(J) R) iter.Seq[R] {
	return InOrderBy(runtime.GOMAXPROCS(0), ctx, jobs, size, work)
}

// InOrderBy does the same with a number of jobs at once, for work that waits for a server.
func InOrderBy[J, R any](workers int, ctx context.Context, jobs iter.Seq[J], size func(J) int, work func(J) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		h := newPool[J, R](queuedPerWorker * workers)
		for range workers {
			go h.work(work)
		}
		go h.take(ctx, jobs, size)
		for {
			t, ok := receive(ctx, h.line)
			if !ok {
				return
			}
			r, ok := receive(ctx, t.result)
			if !ok || !yield(r) {
				return
			}
			for range t.places {
				<-h.room
			}
		}
	}
}

// pool holds the queued tasks: each in the queue until a worker takes it, and in
// the line until its result was used.
type pool[J, R any] struct {
	room        chan struct{}
	queue, line chan task[J, R]
}

// newPool makes a queue and a line that are never full, because each task in them
// takes room.
func newPool[J, R any](room int) pool[J, R] {
	return pool[J, R]{make(chan struct{}, room), make(chan task[J, R], room), make(chan task[J, R], room)}
}

func (h pool[J, R]) work(work func(J) R) {
	for t := range h.queue {
		t.result <- work(t.job)
	}
}

// take takes jobs while there is room for them.
func (h pool[J, R]) take(ctx context.Context, jobs iter.Seq[J], size func(J) int) {
	defer close(h.queue)
	defer close(h.line)
	for j := range jobs {
		t := task[J, R]{j, min(1+size(j)/place, cap(h.room)), make(chan R, 1)}
		for range t.places {
			select {
			case h.room <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
		h.queue <- t
		h.line <- t
	}
}

// receive waits for a value, but not longer than ctx lasts: what is ready when it
// ends is not used any more.
func receive[T any](ctx context.Context, from <-chan T) (v T, ok bool) {
	select {
	case v, ok = <-from:
	case <-ctx.Done():
	}
	return v, ok && ctx.Err() == nil
}
