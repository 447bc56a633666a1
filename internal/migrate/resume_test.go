// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// resumable is a migration that waits, by a policy that a test changes.
type resumable struct {
	*many
	fleet    *migrate.Fleet
	mu       sync.Mutex
	policy   transition.Policy // while it runs, later changes it
	rollback bool
	wake     chan struct{}
	turns    []transition.Turn
}

func newResumable(t *testing.T, names ...string) *resumable {
	t.Helper()
	l := &resumable{many: newMany(t, names...), wake: make(chan struct{}, 1), policy: transition.Policy{Limits: transition.Limits{Unavailable: 2}}}
	l.fleet = l.many.fleet(nil, 1, transition.Limits{})
	l.fleet.Resume = &migrate.Resumable{
		Again: func() []migrate.Member { return nil },
		Next: func(list []migrate.Member) transition.Turn {
			l.mu.Lock()
			defer l.mu.Unlock()
			turn := l.policy.Next(l.fleet.Waves, migrate.Progress(list), time.Now())
			l.turns = append(l.turns, turn)
			return turn
		},
		Gate: func(cluster, stage string) *transition.Wait {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.policy.Stage("wave-1", stage, time.Now())
		},
		Wake: l.wake, Rollback: func() bool { return l.rollback }, Slots: make(chan struct{}, 1),
	}
	return l
}

// later changes the policy of a migration that runs.
func (l *resumable) later(wait time.Duration, change func(*transition.Policy)) {
	time.Sleep(wait)
	l.mu.Lock()
	change(&l.policy)
	l.mu.Unlock()
	l.wake <- struct{}{}
}

// waited reports whether a start waited for a reason.
func (l *resumable) waited(why transition.Reason) bool {
	return slices.ContainsFunc(l.turns, func(turn transition.Turn) bool { return turn.Wait != nil && turn.Wait.Reason == why })
}

func TestWavesSoakBeforeTheNextOneStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newResumable(t, "alder", "birch")
		l.policy.Waves = map[string]transition.Pace{"wave-1": {Soak: 5 * time.Hour}}
		started := map[string]time.Time{}
		l.fleet.OnChange = func(one migrate.Member, _ migrate.Event) {
			if _, has := started[one.Cluster]; !has {
				started[one.Cluster] = one.Since
			}
		}
		s := l.fleet.Run(t.Context())
		assert.Truef(t, states(s) == "alder=done birch=done" && l.waited(transition.Soaking) && started["fleet-default/birch"].Sub(s.Members[0].Since) == 5*time.Hour, "%s %v", states(s), started)
	})
}

func TestAStageThatIsNotApprovedHoldsTheClusterAndLeavesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newResumable(t, "alder")
		l.policy.Stages, l.policy.Approvals = true, []transition.Approval{{Wave: "wave-1", Stage: stages.GrantMigrationLease}, {Wave: "wave-1", Stage: stages.EnableLeaderMigration}}
		l.fleet.OnChange = func(one migrate.Member, _ migrate.Event) {
			if one.State != transition.Gated {
				return
			}
			lock := l.Rancher.Object(l.Worlds["alder"].Lock)
			assert.Truef(t, lock == "" && one.Err == nil && strings.Contains(one.Waiting, "not approved"), "%+v, lock %s", one, lock)
			go l.later(24*time.Hour, func(p *transition.Policy) {
				p.Approvals = append(p.Approvals, transition.Approval{Wave: "wave-1", Stage: one.Stage})
			})
		}
		s := l.fleet.Run(t.Context())
		assert.Truef(t, states(s) == "alder=done" && l.waited(transition.ApprovalRequired), "%s %+v", states(s), s)
		l.Migrated(t, "alder")
	})
}

func TestAnInterruptLeavesTheStatesFromWhichTheNextProcessContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newResumable(t, "alder", "birch")
		ctx, interrupt := context.WithCancel(t.Context())
		l.fleet.OnChange = func(one migrate.Member, e migrate.Event) {
			if e.Type == migrate.Written && e.Stage == stages.SwitchToExternal {
				interrupt()
			}
		}
		s := l.fleet.Run(ctx)
		assert.Must(t, states(s) == "alder=running birch=waiting", states(s))
		w := (&world{World: l.Worlds["alder"]})
		assert.Truef(t, len(w.Cordoned()) == 0 && l.Rancher.Object(w.Lock) == "", "cordoned %v, lock %s", w.Cordoned(), l.Rancher.Object(w.Lock))
		next := newResumable(t)
		next.many, next.fleet.Waves, next.fleet.Open, next.fleet.Resume.Members = l.many, l.fleet.Waves, l.open, s.Members
		next.policy.Pause = true // what has begun is continued, up to its next stage
		go next.later(24*time.Hour, func(p *transition.Policy) { p.Pause = false })
		s = next.fleet.Run(t.Context())
		assert.True(t, states(s) == "alder=done birch=done" && next.waited(transition.Paused), states(s))
		l.Migrated(t, "alder", "birch")
	})
}

func TestAClusterThatFailsIsRolledBackIfAskedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newResumable(t, "alder", "birch")
		l.rollback, l.policy.Failures = true, 1
		before := l.Worlds["alder"].Spec(t)
		l.fleet.OnChange = func(one migrate.Member, e migrate.Event) {
			l.stuckAt("alder", stages.SwitchToExternal)(one, e)
			if one.State == transition.Reverting {
				l.Worlds["alder"].Stick(false)
			}
		}
		s := l.fleet.Run(t.Context())
		one := s.Members[0]
		assert.Mustf(t, states(s) == "alder=failed birch=done" && one.RolledBack && one.Err != nil && strings.Contains(one.Err.Error(), "not complete within"), "%s %+v", states(s), one)
		assert.Equal(t, l.Worlds["alder"].Spec(t), before)
		l.Migrated(t, "birch")
	})
}

func TestAClusterThatAnotherRunHasLockedIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newResumable(t, "alder")
		o := assert.Value(l.open("fleet-default/alder"))(t)
		begun, held := make(chan struct{}), make(chan error)
		o.Until = stages.GrantMigrationLease
		o.OnEvent = func(e migrate.Event) {
			if e.Type == migrate.Staged {
				close(begun)
				kube.Pause(t.Context(), time.Minute) // its lock is renewed
			}
		}
		go func() { held <- migrate.Forward(t.Context(), o) }()
		<-begun
		waited := false
		l.fleet.OnChange = func(one migrate.Member, _ migrate.Event) {
			waited = waited || strings.Contains(one.Waiting, "another run is in progress")
		}
		s := l.fleet.Run(t.Context())
		err := <-held
		assert.Truef(t, err == nil && states(s) == "alder=done" && waited, "%v %s %t", err, states(s), waited)
		l.Migrated(t, "alder")
	})
}
