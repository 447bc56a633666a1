// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func double(i int) int { return 2 * i }

func TestResultsComeInTheOrderOfTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(i int) int {
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			return i
		}
		got := Each(t.Context(), 8, numbers(500), work)
		assert.EqualSlices(t, got, numbers(500))
	})
}

func TestNoJobsGiveNoResults(t *testing.T) {
	r := Each(t.Context(), 8, numbers(0), double)
	assert.Truef(t, len(r) == 0, "got %d", r)
}

func TestSoManyJobsRunAtOnce(t *testing.T) {
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
		if Each(t.Context(), 8, numbers(100), work); most != 8 {
			t.Errorf("%d jobs at once", most)
		}
	})
}

func TestTheEndOfTheContextLeavesNoResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan struct{})
		defer close(end)
		work := func(i int) int {
			if i == 50 {
				cancel()
				<-end // a standard input that no one writes to
			}
			return i
		}
		got := Each(ctx, 8, numbers(500), work)
		assert.Truef(t, got == nil, "%d results", len(got))
	})
}

func TestAfterTheEndOfTheContextNoMoreJobsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var begun atomic.Int64
		work := func(i int) int {
			begun.Add(1)
			time.Sleep(time.Second)
			cancel()
			return i
		}
		Each(ctx, 8, numbers(500), work)
		time.Sleep(time.Hour)
		n := begun.Load()
		assert.Truef(t, n <= 8, "%d jobs", n)
	})
}
