// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

type work = func(context.Context, migrate.Options) error

// deaths are runs that are killed, and where the next one has to come to.
var deaths = map[string]struct {
	world     func(*testing.T) *world
	run, next func(w *world, t *testing.T, agent string) migrate.Options
	work      work
	writes    int // at least
	ended     func(t *testing.T, w *world, log []migrate.Entry)
}{
	"migrate": {rke2World, (*world).logged, (*world).logged, migrate.Forward, 10, func(t *testing.T, w *world, log []migrate.Entry) {
		w.finished(t, undisturbed(t))
		patched(t, log)
	}},
	"rollback": {migrated, (*world).logged, (*world).logged, migrate.Backward, 5, func(t *testing.T, w *world, log []migrate.Entry) {
		w.finished(t, rke2World(t).Spec(t))
		patched(t, log)
	}},
	"a registration": {stubbed, (*world).restarting, (*world).restarting, migrate.Forward, 7, func(t *testing.T, w *world, _ []migrate.Entry) {
		if n := w.lastNode(); !strings.HasPrefix(n.Spec.ProviderID, "aws:///") || len(w.Cordoned()) > 0 || len(w.asked) == 0 {
			t.Errorf("%s has %q, cordoned: %v, restarted: %v", n.Name, n.Spec.ProviderID, w.Cordoned(), w.asked)
		}
	}},
	// The next run has no canary check.
	"a canary Service": {migrated, (*world).proving, (*world).logged, migrate.Forward, 4, func(t *testing.T, w *world, _ []migrate.Entry) { w.swept(t) }},
}

// migrated is a world after its migration.
func migrated(t *testing.T) *world {
	w := rke2World(t)
	w.migrate(t, "before")
	return w
}

// TestARunThatIsKilledAtAnyWriteIsResumed kills the process before and after each write, and lets another one continue.
func TestARunThatIsKilledAtAnyWriteIsResumed(t *testing.T) {
	for name, d := range deaths {
		step := 1
		if testing.Short() {
			step = min(4, d.writes-1)
		}
		for _, after := range []bool{false, true} {
			for at, killed := 1, true; killed && at < 100; at += step {
				t.Run(fmt.Sprintf("%s, killed at write %d, after it: %t", name, at, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := d.world(t)
						w.KillAt(at, after)
						log := filepath.Join(t.TempDir(), "audit.jsonl")
						r := d.run(w, t, "killed")
						r.AuditLog, r.OnEvent = log, nil
						select {
						case <-w.Killed:
						case err := <-w.start(t, r, d.work):
							if killed = false; err != nil || at <= d.writes {
								t.Errorf("only %d writes: %v", at-1, err)
							}
							return
						}
						r = d.next(w, t, "next")
						r.AuditLog = leftBy(t, log)
						assert.NilError(t, d.work(t.Context(), r))
						d.ended(t, w, audited(t, r.AuditLog))
					})
				})
			}
		}
	}
}

// leftBy copies the audit log of a run that was killed, which in a test learns at some time that it gets no answer, and
// notes it in its own.
func leftBy(t *testing.T, log string) string {
	t.Helper()
	text, err := os.ReadFile(log)
	left := filepath.Join(t.TempDir(), "left.jsonl")
	if err = errors.Join(err, os.WriteFile(left, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return left
}

// patched expects that a log has the patch of every stage that edits.
func patched(t *testing.T, log []migrate.Entry) {
	t.Helper()
	acts := map[string]bool{}
	for _, e := range log {
		if e.Phase == migrate.Result && (e.Result == "done" || e.Result == "found-done") {
			acts[e.Act+" "+e.Stage] = true
		}
	}
	for _, stage := range stages.UndoNames() {
		assert.Truef(t, acts["patch "+stage], "the patch of %s is not in the log: %v", stage, acts)
	}
}

// start runs a migration in parallel to the test. One that was killed is never answered again,
// so it ends after the test.
func (w *world) start(t *testing.T, r migrate.Options, work work) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var over sync.WaitGroup
	t.Cleanup(func() { cancel(); over.Wait() })
	ended := make(chan error, 1)
	over.Go(func() { ended <- work(ctx, r) })
	return ended
}

func TestTheLockOfADeadRunIsTakenOver(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.KillAt(5, false)
		w.start(t, w.run(t, "killed", nil), migrate.Forward)
		<-w.Killed
		begun, took := time.Now(), time.Duration(0)
		r := w.run(t, "next", func(e migrate.Event) {
			logged(t)(e)
			if e.Type == migrate.Began {
				took = time.Since(begun)
			}
		})
		assert.NilError(t, migrate.Forward(t.Context(), r))
		assert.Truef(t, took >= 15*time.Second && took <= 20*time.Second, "it was taken over after %s", took)
		w.finished(t, undisturbed(t))
	})
}

func TestOfTwoRunsOneIsRefused(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		held, done := make(chan struct{}), make(chan struct{})
		first := w.run(t, "one", nil)
		first.Confirm = func(context.Context, string) (bool, error) {
			select {
			case <-held:
			default:
				close(held)
				<-done
			}
			return true, nil
		}
		ended := w.start(t, first, migrate.Forward)
		<-held
		second := w.run(t, "two", logged(t))
		err := migrate.Forward(t.Context(), second)
		var by *migrate.Locked
		assert.True(t, errors.As(err, &by) && exitcode.Of(err) == exitcode.Refused && strings.Contains(by.Holder, "one/"), err)
		close(done)
		if err := <-ended; err != nil {
			t.Errorf("the first: %v", err)
		}
		w.finished(t, undisturbed(t))
	})
}

func TestARunThatLosesItsLockStopsBeforeTheNextWrite(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) {
			if stage == stages.InstallCCM {
				w.Rancher.Edit(w.Lock, func(o map[string]any) { o["spec"].(map[string]any)["holderIdentity"] = "another/1/x" })
				w.Forget()
			}
			return true, nil
		}
		err := migrate.Forward(t.Context(), r)
		var by *migrate.Locked
		assert.Truef(t, errors.As(err, &by) && exitcode.Of(err) == exitcode.Refused && len(w.Writes()) == 0 && strings.Contains(w.Rancher.Object(w.Lock), "another/1/x"), "%v %v %s", err, w.Writes(), w.Rancher.Object(w.Lock))
	})
}

func TestARunThatLosesItsLockInTheMiddleOfARequestReportsIt(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		r.Confirm = func(ctx context.Context, stage string) (bool, error) {
			if stage != stages.InstallCCM {
				return true, nil
			}
			w.Rancher.Edit(w.Lock, func(o map[string]any) { o["spec"].(map[string]any)["holderIdentity"] = "another/1/x" })
			<-ctx.Done()
			return false, &kube.Unreached{What: "list nodes", Err: ctx.Err()}
		}
		err := migrate.Forward(t.Context(), r)
		assert.Truef(t, exitcode.Of(err) == exitcode.Refused && strings.Contains(fmt.Sprint(err), "another run is in progress: another/1/x"), "%d %v", exitcode.Of(err), err)
	})
}
