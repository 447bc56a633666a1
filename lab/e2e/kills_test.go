// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
)

// seed names the environment variable that has random kills happen as they did before, as far as the
// managers do the same.
const seed = "LAB_SEED"

// All stages forward and back, while managers of either kind are killed at any time. They come again on the
// same machine, as after a crash.
func TestManagersAreKilledAtRandom(t *testing.T) {
	onlyInSoak(t)
	start := seedOf(t)
	for n, w := range routes {
		t.Run(w.name, func(t *testing.T) {
			s := begin(t, "cp-1", "cp-2", "cp-3")
			s.agent.Pause = s.cluster.Timing.Takeover() + time.Second
			s.timeout *= 3 // the manager that takes over may be the next
			along, kills := w.along(s), s.killer(rand.New(rand.NewPCG(start, uint64(n))))
			s.underLoad(along.start, func() {
				stop := kills.begin()
				for _, tr := range along.transitions {
					s.forward(tr)
				}
				for _, tr := range slices.Backward(along.transitions) {
					s.backward(tr)
				}
				stop()
			})
			s.neverTwo()
			s.shortGaps()
			s.explained()
			fmt.Printf("soak kills-%s seed=%d kills=%d owners=%d\n", w.name, start, kills.all, kills.hits)
			s.end("kills-" + w.name)
		})
	}
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seed)
	if text == "" {
		text = strconv.FormatUint(rand.Uint64(), 10)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seed, err)
	}
	t.Logf("the same again: %s=%d", seed, n)
	return n
}

// killer ends managers at random.
type killer struct {
	*scenario
	dice      *rand.Rand
	all, hits int // managers killed, and those of them that owned the controllers
}

func (s *scenario) killer(dice *rand.Rand) *killer { return &killer{scenario: s, dice: dice} }

// begin kills one manager after the other until the function that it returns is called.
func (k *killer) begin() (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-k.Context().Done():
				return
			case <-time.After(k.pause()):
				k.kill()
			}
		}
	})
	return func() { close(over); running.Wait() }
}

// pause is between a moment and the time of two takeovers, so that some kills hit a takeover and some do not.
func (k *killer) pause() time.Duration {
	return time.Duration(k.dice.Int64N(int64(2 * k.cluster.Timing.Takeover())))
}

// kill ends a manager: every other time the owner of the controllers, else any.
func (k *killer) kill() {
	alive := slices.DeleteFunc(k.agent.Containers(), func(c agent.Container) bool { return !c.Alive() })
	owns := func(c agent.Container) bool { return slices.Contains(k.owners(), c.Caller()) }
	if owners := slices.DeleteFunc(slices.Clone(alive), func(c agent.Container) bool { return !owns(c) }); k.dice.IntN(2) == 0 && len(owners) > 0 {
		alive = owners
	}
	if len(alive) == 0 {
		return
	}
	slices.SortFunc(alive, func(a, b agent.Container) int { return cmp.Compare(a.Caller(), b.Caller()) })
	m := alive[k.dice.IntN(len(alive))]
	k.all++
	if owns(m) {
		k.hits++
	}
	k.Logf("%6.1f  %s is killed", time.Since(k.began).Seconds(), m.Caller())
	m.Kill()
}

// explained requires that no one owned the controllers only where an owner was killed or replaced.
func (s *scenario) explained() {
	s.Helper()
	timeline := s.timeline(recorder.Service, s.began)
	for n, gap := range timeline {
		if len(gap.Owners) > 0 || n == 0 || n == len(timeline)-1 {
			continue
		}
		if last := timeline[n-1].Owners[0]; !s.wasEnded(last, gap.From) {
			s.Errorf("%.1f  %s gave the controllers up by itself", gap.From.Sub(s.began).Seconds(), last)
		}
	}
}

// wasEnded reports whether a manager was ended at a time, by a kill or by its kubelet.
func (s *scenario) wasEnded(caller string, at time.Time) bool {
	return slices.ContainsFunc(s.cluster.Managers(), func(m *cluster.Manager) bool {
		ended, over := m.EndedAt()
		return m.Caller() == caller && over && m.Asked() && ended.Sub(at).Abs() < s.slack()
	})
}
