// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// TestARunThatIsKilledAtAnyWriteIsResumed kills the process before and after each
// write, and lets another one continue.
func TestARunThatIsKilledAtAnyWriteIsResumed(t *testing.T) {
	var want, start string
	synctest.Test(t, func(t *testing.T) { want, start = undisturbed(t), rke2World(t).Spec(t) })
	for _, after := range []bool{false, true} {
		killedAtEach(t, after, 10, func(*testing.T, *world) {}, migrate.Forward, want)
		killedAtEach(t, after, 5, func(t *testing.T, w *world) {
			if err := migrate.Forward(t.Context(), w.run(t, "before", nil)); err != nil {
				t.Fatal(err)
			}
		}, migrate.Backward, start)
	}
}

type work = func(context.Context, migrate.Options) error

// killedAtEach kills a run at each of its writes, of which there are a few at least,
// and lets another one come to the end.
func killedAtEach(t *testing.T, after bool, few int, prepare func(*testing.T, *world), work work, want string) {
	t.Helper()
	step := 1
	if testing.Short() {
		step = 4
	}
	for at, killed := 1, true; killed && at < 100; at += step {
		t.Run(fmt.Sprintf("killed at write %d, after it: %t", at, after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := rke2World(t)
				prepare(t, w)
				w.KillAt(at, after)
				log := filepath.Join(t.TempDir(), "audit.jsonl")
				if killed = w.killedRun(t, log, work); !killed {
					if at <= few {
						t.Errorf("only %d writes", at-1)
					}
					return
				}
				r := w.run(t, "next", logged(t))
				r.AuditLog = log
				if err := work(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				w.finished(t, want)
				patched(t, audited(t, log))
			})
		})
	}
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
		if !acts["patch "+stage] {
			t.Errorf("the patch of %s is not in the log: %v", stage, acts)
		}
	}
}

// killedRun starts a run whose process ends; false where it came to its end before.
func (w *world) killedRun(t *testing.T, log string, work work) bool {
	r := w.run(t, "killed", nil)
	r.AuditLog = log
	ended := w.start(t, r, work)
	select {
	case <-w.Killed:
		return true
	case err := <-ended:
		if err != nil {
			t.Errorf("%v", err)
		}
		return false
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
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if took < 15*time.Second || took > 20*time.Second {
			t.Errorf("it was taken over after %s", took)
		}
		w.finished(t, undisturbed(t))
	})
}

func TestOfTwoRunsOneIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if !errors.As(err, &by) || exitcode.Of(err) != exitcode.Refused || !strings.Contains(by.Holder, "one/") {
			t.Errorf("%v", err)
		}
		close(done)
		if err := <-ended; err != nil {
			t.Errorf("the first: %v", err)
		}
		w.finished(t, undisturbed(t))
	})
}

func TestARunThatLosesItsLockStopsBeforeTheNextWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if !errors.As(err, &by) || exitcode.Of(err) != exitcode.Refused || len(w.Writes()) > 0 || !strings.Contains(w.Rancher.Object(w.Lock), "another/1/x") {
			t.Errorf("%v %v %s", err, w.Writes(), w.Rancher.Object(w.Lock))
		}
	})
}

func TestARunThatLosesItsLockInTheMiddleOfARequestReportsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
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
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "another run is in progress: another/1/x") {
			t.Errorf("%d %v", exitcode.Of(err), err)
		}
	})
}
