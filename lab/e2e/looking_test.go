// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// meanwhile does something again and again until the test ends. An error that passes is none, nor is one that
// comes while the cluster ends.
func (s *scenario) meanwhile(every time.Duration, do func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for good := time.Now(); ctx.Err() == nil; kube.Pause(ctx, every) {
			err := do(ctx)
			if err == nil {
				good = time.Now()
			}
			if time.Since(good) > s.timeout && ctx.Err() == nil {
				s.Error(err)
				return
			}
		}
	})
	s.Cleanup(func() { cancel(); running.Wait() })
}

// watched is what rke-lm leaders sees.
type watched struct {
	mu        sync.Mutex
	timeline  check.Timeline
	intervals []check.Interval
	longest   time.Duration // that an observation took
}

// watch looks as rke-lm does, through the API server alone.
func (s *scenario) watch() (*observe.Observer, *watched) {
	s.Helper()
	config := assert.Value(s.cluster.Kubeconfig(cluster.Admin))(s)
	client := assert.Value(kube.Connect(kube.Connection{Kubeconfig: config, RetryFor: cluster.ReadyTimeout}))(s)
	observer, w := &observe.Observer{Client: client}, &watched{}
	s.meanwhile(200*time.Millisecond, func(ctx context.Context) error { return w.sample(ctx, observer) })
	return observer, w
}

func (w *watched) sample(ctx context.Context, observer *observe.Observer) error {
	asked := time.Now()
	o, err := observer.Observe(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sample := check.Sample{Asked: asked, At: time.Now(), Leases: o.Leases, Managers: o.Managers}
	w.intervals = append(w.intervals, w.timeline.Add(sample)...)
	w.longest = max(w.longest, sample.At.Sub(asked))
	return nil
}

// end returns the whole timeline.
func (w *watched) end() []check.Interval {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.intervals = append(w.intervals, w.timeline.End(time.Now())...)
	return w.intervals
}

// strays returns the writes to AWS whose manager was no owner by the timeline around that moment. An observation
// takes a while, and what could not be determined is no failure.
func strays(intervals []check.Interval, writes []aws.Call, around time.Duration) []aws.Call {
	return slices.DeleteFunc(slices.Clone(writes), func(c aws.Call) bool {
		component, _, _ := strings.Cut(c.Caller, "@")
		return slices.ContainsFunc(intervals, func(i check.Interval) bool {
			near := i.From.Add(-around).Before(c.Time) && i.To.Add(around).After(c.Time)
			return near && (i.Unknown != "" || slices.Contains(i.Owners, component))
		})
	})
}

// blur is how exact what owners saw is in time: it looks again and again, and an observation takes a while.
func (w *watched) blur() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Second + 2*w.longest
}

// seenOwner waits until one manager has been the owner for so long that no look can have missed it. A leader
// that is replaced at once may have written to AWS between two observations.
func (s *scenario) seenOwner(w *watched) {
	s.Helper()
	s.eventually("an owner that is seen", func(context.Context) bool {
		timeline := s.timeline(recorder.Service, s.began)
		last := timeline[len(timeline)-1]
		return len(last.Owners) == 1 && last.To.Sub(last.From) > w.blur()
	})
}

func listed(intervals []check.Interval) string {
	var b strings.Builder
	for _, i := range intervals {
		fmt.Fprintf(&b, "%s %5.1f s  %d %v %s\n", i.From.Format("15:04:05.0"), i.To.Sub(i.From).Seconds(), i.Count, i.Owners, i.Unknown)
	}
	return b.String()
}

// What owners and verify report, and who called AWS, agree.
func TestWhatIsSeenIsWhatAWSReceived(t *testing.T) {
	s := begin(t, "cp-1")
	s.kubelets(s.join())
	plan := planned(t, document(t, "rke2.yaml"))
	s.rollOut(s.wanted(plan.Start[0]))
	observer, seen := s.watch()
	stop := s.traffic(500 * time.Millisecond)
	s.seenOwner(seen)
	for _, step := range plan.Steps {
		if step.Changes() {
			w := s.wanted(step.Documents[0].After)
			s.external = w.External
			s.rollOut(w)
			s.gate(step.Stage.Name)
			s.seenOwner(seen)
		}
	}
	stop()
	s.served()
	s.reaches(observer, stages.DisableLeaderMigration)
	s.approved(stages.VerifyProviderIDs)
	intervals := seen.end()
	t.Logf("what owners saw\n%s", listed(intervals))
	owners, unknown := check.Seconds(intervals)
	if often := seen.longest < observed.Blind/2; owners[2] > 0 || often && (owners[1] == 0 || unknown > owners[1]) {
		t.Errorf("seconds by owners: %v, unknown: %.1f", owners, unknown)
	}
	for _, stray := range strays(intervals, s.cluster.AWS.Writes(), seen.blur()) {
		t.Errorf("%s wrote %s at %s without being an owner", stray.Caller, stray.Action, stray.Time.Format("15:04:05.0"))
	}
	s.end("owners-and-verify")
}

// reaches waits until the cluster shows a stage.
func (s *scenario) reaches(observer *observe.Observer, stage string) {
	s.Helper()
	s.eventually("the cluster shows "+stage, func(ctx context.Context) bool {
		o, err := observer.Observe(ctx)
		return err == nil && check.Reached(o) == stage
	})
}

// Two owners are found by their arguments while both write.
func TestTwoOwnersAreSeenAsTwo(t *testing.T) {
	s := mistake(t)
	_, seen := s.watch()
	s.until(planned(t, document(t, "rke2.yaml")), newer)
	s.twoOwners()
	var intervals []check.Interval
	s.eventually("two owners that are seen", func(ctx context.Context) bool {
		kube.Pause(ctx, time.Second) // an observation or two
		intervals = seen.end()
		last := intervals[len(intervals)-1]
		return last.Count == 2 && last.Unknown == "" && slices.Contains(last.Doubled, check.Service)
	})
	t.Logf("what owners saw\n%s", listed(intervals))
	s.end("owners-two")
}
