// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// timings are lease duration, renew deadline and retry period.
type timings struct{ lease, renew, retry time.Duration }

func seconds(lease, renew, retry time.Duration) timings {
	return timings{lease * time.Second, renew * time.Second, retry * time.Second}
}

// record is the lease on an API server.
type record struct {
	mu      sync.Mutex
	now     *resourcelock.LeaderElectionRecord
	version int
}

// lock is how one elector reaches the lease. A write arrives at once, and is answered late; a request without an answer
// ends after half the renew deadline (client-go, resourcelock.NewFromKubeconfig).
type lock struct {
	lease   *record
	name    string
	timeout time.Duration
	version int // that was read last

	mu     sync.Mutex
	late   time.Duration
	silent bool
}

func (l *lock) set(late time.Duration, silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.silent = late, silent
}

// answer waits for the answer to a request.
func (l *lock) answer(ctx context.Context, late time.Duration) error {
	const quick = 2 * time.Millisecond
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(late+quick, l.timeout)):
	}
	if late+quick > l.timeout {
		return errors.New("no answer")
	}
	return nil
}

func (l *lock) state() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late, l.silent
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if _, silent := l.state(); silent {
		return nil, nil, l.answer(ctx, l.timeout)
	}
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	if l.lease.now == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, "lease")
	}
	l.version = l.lease.version
	now := *l.lease.now
	raw, err := json.Marshal(now)
	return &now, raw, err
}

func (l *lock) Update(ctx context.Context, now resourcelock.LeaderElectionRecord) error {
	late, silent := l.state()
	if silent {
		return l.answer(ctx, l.timeout)
	}
	if !l.write(now) {
		return apierrors.NewConflict(schema.GroupResource{}, "lease", errors.New("another version"))
	}
	return l.answer(ctx, late)
}

func (l *lock) write(now resourcelock.LeaderElectionRecord) bool {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	if l.lease.now != nil && l.lease.version != l.version {
		return false
	}
	l.lease.version++
	l.version, l.lease.now = l.lease.version, &now
	return true
}

func (l *lock) Create(ctx context.Context, now resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, now)
}
func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return l.name }
func (l *lock) Describe() string   { return l.name }

// elect starts an elector, and returns how it reaches the lease and when it begins to lead and ends.
func elect(ctx context.Context, t *testing.T, lease *record, name string, of timings) (l *lock, began, ended chan time.Time) {
	l = &lock{lease: lease, name: name, timeout: max(of.renew/2, time.Second)}
	began, ended = make(chan time.Time, 1), make(chan time.Time, 1)
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: of.lease, RenewDeadline: of.renew, RetryPeriod: of.retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { began <- time.Now() },
			OnStoppedLeading: func() { ended <- time.Now() },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go e.Run(ctx)
	return l, began, ended
}

// both returns for how long two managers lead; negative for a gap. The writes of the leader are answered late, and from some
// point on not at all.
func both(t *testing.T, leader, candidate timings, late time.Duration, random *rand.Rand) (overlap time.Duration) {
	some := func(most time.Duration) time.Duration { return time.Duration(random.Int63n(int64(most))) }
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lease := &record{}
		l, _, ended := elect(ctx, t, lease, "leader", leader)
		time.Sleep(3*time.Second + some(3*time.Second))
		_, began, _ := elect(ctx, t, lease, "candidate", candidate)
		time.Sleep(10*time.Second + some(5*time.Second))
		l.set(late, false)
		time.Sleep(some(12 * time.Second))
		l.set(0, true)
		overlap = (<-ended).Sub(<-began)
		cancel()
		time.Sleep(time.Minute) // until both are gone
	})
	return overlap
}

// The timings of --short-leases are those that the stages write; a lease duration of 6 s shows that the test can fail.
func TestShortLeasesNeverHaveTwoLeadersHoweverLateAnswersAre(t *testing.T) {
	const runs = 400
	random := rand.New(rand.NewSource(1))
	kube, short := seconds(15, 4, 1), seconds(8, 4, 1)
	for _, c := range []struct {
		name              string
		leader, candidate timings
		two               bool
	}{
		{"the switch", kube, short, false},
		{"disable-leader-migration", short, short, false},
		{"6/4/1", kube, seconds(6, 4, 1), true},
		{"6/3/1", seconds(15, 3, 1), seconds(6, 3, 1), false},
		{"the defaults", seconds(15, 10, 2), seconds(15, 10, 2), true},
	} {
		var longest time.Duration
		for _, late := range []time.Duration{0, 500, 1000, 1500, 1900, 2500, 3500, 4900} {
			worst := -time.Hour
			for range runs {
				worst = max(worst, both(t, c.leader, c.candidate, late*time.Millisecond, random))
			}
			longest = max(longest, worst)
			t.Logf("%s, answers after %s: two leaders for %.1f s", c.name, late*time.Millisecond, max(0, worst.Seconds()))
		}
		if (longest > 0) != c.two {
			t.Errorf("%s: two leaders for %s", c.name, longest)
		}
	}
}
