// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func noSize(int) int { return 0 }

func double(i int) int { return 2 * i }

func TestResultsComeInTheOrderOfTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(i int) int {
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			return i
		}
		got := slices.Collect(InOrder(t.Context(), numbers(500), noSize, work))
		if want := slices.Collect(numbers(500)); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestNoJobsGiveNoResults(t *testing.T) {
	for r := range InOrder(t.Context(), numbers(0), noSize, double) {
		t.Errorf("got %d", r)
	}
}

func TestJobsRunOnAllCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		count := func(more int) {
			mu.Lock()
			defer mu.Unlock()
			now += more
			most = max(most, now)
		}
		work := func(i int) int {
			count(1)
			time.Sleep(time.Second)
			count(-1)
			return i
		}
		for range InOrder(t.Context(), numbers(100), noSize, work) {
		}
		if most != runtime.GOMAXPROCS(0) {
			t.Errorf("%d jobs at once on %d cores", most, runtime.GOMAXPROCS(0))
		}
	})
}

// drawnBefore returns how many jobs are drawn while the first result is in use.
func drawnBefore(t *testing.T, size int) (drawn int) {
	synctest.Test(t, func(t *testing.T) {
		jobs := func(yield func(int) bool) {
			for yield(0) {
				drawn++
			}
		}
		for range InOrder(t.Context(), jobs, func(int) int { return size }, double) {
			synctest.Wait()
			break
		}
	})
	return drawn
}

func TestJobsAreDrawnOnlyAFewInAdvance(t *testing.T) {
	most := queuedPerWorker * runtime.GOMAXPROCS(0)
	if n := drawnBefore(t, 0); n != most {
		t.Errorf("%d small jobs were drawn, not %d", n, most)
	}
	if n := drawnBefore(t, 3*place); n != most/4 {
		t.Errorf("%d jobs of four places were drawn, not %d", n, most/4)
	}
	if n := drawnBefore(t, 1000*place); n != 1 {
		t.Errorf("%d huge jobs were drawn, not 1", n)
	}
}

func TestTheEndOfTheContextEndsTheResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	forever := func(yield func(int) bool) {
		for yield(1) {
		}
	}
	n := 0
	for range InOrder(ctx, forever, noSize, double) {
		if n++; n == 50 {
			cancel()
		}
	}
	if n < 50 {
		t.Errorf("%d results", n)
	}
}

func TestAJobThatIsNeverDrawnIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		end := make(chan struct{})
		defer close(end)
		blocked := func(func(int) bool) { <-end } // a standard input that no one writes to
		for range InOrder(ctx, blocked, noSize, double) {
			t.Error("a result of nothing")
		}
	})
}
