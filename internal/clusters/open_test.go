// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"math/rand/v2"
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

func TestResultsComeInTheOrderOfTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(i int) int {
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			return i
		}
		for _, n := range []int{0, 500} {
			assert.EqualSlices(t, Each(t.Context(), 8, numbers(n), work), numbers(n), n)
		}
	})
}

func TestSoManyJobsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(i int) int {
			time.Sleep(time.Second)
			return i
		}
		start := time.Now()
		Each(t.Context(), 8, numbers(100), work)
		assert.Equal(t, time.Since(start), 13*time.Second, "100 jobs of a second, 8 at once")
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
