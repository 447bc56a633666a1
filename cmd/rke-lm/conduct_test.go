// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/conduct"
	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

// said shows the events of a run in the log of its test.
func said(t *testing.T) func(outputs.RunEvent) {
	text := &outputs.RunText{Out: t.Output(), Err: t.Output()}
	return text.Write
}

const worldLease = "/apis/coordination.k8s.io/v1/namespaces/fleet-default/leases/rke-lm-orchard"

// undisturbed is what a migration makes of the world.
func undisturbed(t *testing.T) string {
	t.Helper()
	w := newWorld(t)
	if err := w.run(t, "undisturbed", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.spec(t)
}

// finished expects a world at the end of a migration.
func (w *world) finished(t *testing.T, want string) {
	t.Helper()
	if got := w.spec(t); got != want {
		t.Errorf("the object is not that of an undisturbed run:\n%s\n%s", got, want)
	}
	if left := w.cordoned(); len(left) > 0 {
		t.Errorf("cordoned: %v", left)
	}
	if w.rancher.Object(worldLease) != "" {
		t.Error("the lock was not released")
	}
}

// audited reads an audit log: every intent has one result.
func audited(t *testing.T, file string) []conduct.Entry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []conduct.Entry
	open := map[string]int{}
	for line := range bytes.Lines(text) {
		var e conduct.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		list = append(list, e)
		if e.Phase == "intent" {
			open[e.ID]++
		} else {
			open[e.ID] += 10
		}
	}
	for id, n := range open {
		if n != 11 {
			t.Errorf("%s has %d results and %d intents", id, n/10, n%10)
		}
	}
	return list
}

func TestASecondMigrateChangesNothing(t *testing.T) {
	w := newWorld(t)
	if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.rancher.Objects()
	w.writes = nil
	if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.writes) > 0 {
		t.Errorf("writes: %v", w.writes)
	}
	for path, text := range w.rancher.Objects() {
		if before[path] != text {
			t.Errorf("%s changed", path)
		}
	}
}

func TestAStageMayBeTheLast(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	r.Until = transform.InstallCCM
	if err := r.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.spec(t); !strings.Contains(s, "HelmChart") || strings.Contains(s, `"external"`) {
		t.Errorf("%s", s)
	}
	if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.finished(t, undisturbed(t))
}

func TestRollbackBringsTheClusterBack(t *testing.T) {
	w := newWorld(t)
	before := w.spec(t)
	if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.run(t, "two", said(t)).Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.finished(t, before)
	w.writes = nil
	if err := w.run(t, "three", said(t)).Rollback(t.Context()); err != nil || len(w.writes) > 0 {
		t.Errorf("a second rollback: %v %v", err, w.writes)
	}
}

func TestRollbackStopsBehindAStage(t *testing.T) {
	w := newWorld(t)
	if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := w.run(t, "two", said(t))
	r.To = transform.InstallCCM
	if err := r.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.spec(t); !strings.Contains(s, "HelmChart") || strings.Contains(s, `"external"`) || !strings.Contains(s, `"enable-leader-migration"`) {
		t.Errorf("%s", s)
	}
	if err := w.run(t, "three", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.finished(t, undisturbed(t))
}

func TestThereIsNoRollbackFrom127(t *testing.T) {
	w := newWorld(t)
	if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.rancher.Edit(worldPath, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.27.16+rke2r1" })
	w.follow()
	w.writes = nil
	err := w.run(t, "two", said(t)).Rollback(t.Context())
	if !strings.Contains(fmt.Sprint(err), "no in-tree provider to go back to") || exitCode(err) != exitRefused || len(w.writes) > 0 {
		t.Errorf("%v %d %v", err, exitCode(err), w.writes)
	}
}

// TestARunThatIsKilledAtAnyWriteIsResumed kills the process before and behind each
// write, and lets another one go on.
func TestARunThatIsKilledAtAnyWriteIsResumed(t *testing.T) {
	want := undisturbed(t)
	for _, after := range []bool{false, true} {
		for at := 1; at < 100; at++ {
			w := newWorld(t)
			w.killAt, w.after = at, after
			log := filepath.Join(t.TempDir(), "audit.jsonl")
			name := fmt.Sprintf("killed at write %d, after it: %t", at, after)
			if !w.killedRun(t, log) {
				if at < 10 {
					t.Errorf("only %d writes", at)
				}
				break
			}
			w.rancher.Remove(worldLease) // its time is over
			r := w.run(t, "next", said(t))
			r.AuditLog = log
			if err := r.Migrate(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			t.Run(name, func(t *testing.T) {
				w.finished(t, want)
				acts := map[string]bool{}
				for _, e := range audited(t, log) {
					if e.Phase == "result" && (e.Result == "done" || e.Result == "found-done") {
						acts[e.Act+" "+e.Stage+" "+e.Object.Name] = true
					}
				}
				for _, stage := range []string{transform.GrantMigrationLease, transform.EnableLeaderMigration, transform.InstallCCM, transform.SwitchToExternal, transform.DisableLeaderMigration} {
					if !acts["patch "+stage+" orchard"] {
						t.Errorf("the patch of %s is not in the log: %v", stage, acts)
					}
				}
			})
		}
	}
}

// killedRun starts a run whose process ends; false where it came to its end before.
func (w *world) killedRun(t *testing.T, log string) bool {
	r := w.run(t, "killed", nil)
	r.AuditLog = log
	ended := make(chan error, 1)
	go func() { ended <- r.Migrate(context.Background()) }()
	select {
	case <-w.killed:
		return true
	case err := <-ended:
		if err != nil {
			t.Errorf("%v", err)
		}
		return false
	}
}

func TestTheLockOfADeadRunIsTakenOver(t *testing.T) {
	w := newWorld(t)
	w.killAt = 5
	dead := w.run(t, "killed", nil)
	dead.Lock = time.Second
	go dead.Migrate(context.Background())
	<-w.killed
	begun := time.Now()
	r := w.run(t, "next", said(t))
	r.Lock = time.Second
	if err := r.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it was taken over after %s", took)
	}
	w.finished(t, undisturbed(t))
}

func TestOfTwoRunsOneIsRefused(t *testing.T) {
	w := newWorld(t)
	held, done := make(chan struct{}), make(chan struct{})
	first := w.run(t, "one", nil)
	first.Lock = 300 * time.Millisecond
	first.Confirm = func(context.Context, string) (bool, error) {
		select {
		case <-held:
		default:
			close(held)
			<-done
		}
		return true, nil
	}
	ended := make(chan error)
	go func() { ended <- first.Migrate(context.Background()) }()
	<-held
	second := w.run(t, "two", said(t))
	second.Lock = 300 * time.Millisecond
	err := second.Migrate(t.Context())
	var by *conduct.Held
	if !errors.As(err, &by) || exitCode(err) != exitRefused || !strings.Contains(by.Holder, "one/") {
		t.Errorf("%v", err)
	}
	close(done)
	if err := <-ended; err != nil {
		t.Errorf("the first: %v", err)
	}
	w.finished(t, undisturbed(t))
}

func TestARunThatLosesItsLockStopsBeforeTheNextWrite(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	r.Confirm = func(_ context.Context, stage string) (bool, error) {
		if stage == transform.InstallCCM {
			w.rancher.Edit(worldLease, func(o map[string]any) { o["spec"].(map[string]any)["holderIdentity"] = "another/1/x" })
			w.writes = nil
		}
		return true, nil
	}
	err := r.Migrate(t.Context())
	var by *conduct.Held
	if !errors.As(err, &by) || exitCode(err) != exitRefused || len(w.writes) > 0 || !strings.Contains(w.rancher.Object(worldLease), "another/1/x") {
		t.Errorf("%v %v %s", err, w.writes, w.rancher.Object(worldLease))
	}
}

func TestAnEditOfAnotherClientStopsTheRunAndTheNextGoesOn(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	w.stuck = true
	r.Say = func(e outputs.RunEvent) {
		said(t)(e)
		if e.Type == outputs.Written && e.Stage == transform.GrantMigrationLease && strings.HasPrefix(e.Message, "patch") {
			w.rancher.Edit(worldPath, func(o map[string]any) {
				config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
				config["profile"] = "cis"
			})
		}
	}
	err := r.Migrate(t.Context())
	if !strings.Contains(fmt.Sprint(err), "somebody else changed the object") || exitCode(err) != exitRefused || !strings.Contains(err.Error(), "to go on: again") {
		t.Fatalf("%v", err)
	}
	w.stuck = false
	w.follow()
	if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.spec(t); !strings.Contains(s, `"profile":"cis"`) || !strings.Contains(s, `"external"`) {
		t.Errorf("%s", s)
	}
}

func TestAMachineThatDoesNotFollowEndsTheRunInTime(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	r.Timeout = 100 * time.Millisecond
	r.Confirm = func(_ context.Context, stage string) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stuck = stage == transform.SwitchToExternal
		return true, nil
	}
	err := r.Migrate(t.Context())
	if exitCode(err) != exitFailed || !strings.Contains(fmt.Sprint(err), "machine orchard-servers-0: its plan does not have the change yet: cloud-provider-name") {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"stopped at switch-to-external", "done: grant-migration-lease, enable-leader-migration, install-ccm, cordon-control-plane\n", "the change of switch-to-external is in the cluster's object", "to go on: again", "to go back: back"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	if left := w.cordoned(); len(left) > 0 {
		t.Errorf("cordoned: %v", left)
	}
	w.stuck = false
	w.follow()
	if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.finished(t, undisturbed(t))
}

func TestARunThatIsInterruptedReleasesWhatItCordoned(t *testing.T) {
	w := newWorld(t)
	ctx, interrupt := context.WithCancel(t.Context())
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	r := w.run(t, "one", said(t))
	r.AuditLog = log
	r.Confirm = func(ctx context.Context, stage string) (bool, error) {
		if stage == transform.SwitchToExternal {
			if len(w.cordoned()) != 3 {
				t.Errorf("cordoned: %v", w.cordoned())
			}
			interrupt()
			return false, context.Cause(ctx)
		}
		return true, nil
	}
	err := r.Migrate(ctx)
	if exitCode(err) != exitFailed || !strings.Contains(fmt.Sprint(err), "interrupted") {
		t.Errorf("%v", err)
	}
	if left := w.cordoned(); len(left) > 0 || w.rancher.Object(worldLease) != "" {
		t.Errorf("cordoned: %v", left)
	}
	audited(t, log)
}

func TestNodesThatSomebodyElseCordonedStayCordoned(t *testing.T) {
	w := newWorld(t)
	w.api.Do(func() { w.api.Nodes[1].Spec.Unschedulable = true })
	if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := w.cordoned(); len(left) != 1 || left[0] != w.api.Nodes[1].Name || len(w.api.Nodes[1].Annotations) > 0 {
		t.Errorf("cordoned: %v", left)
	}
}

func TestAServerThatIsDownForAWhileIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	var down time.Time
	w.rancher.Do(func() {
		w.rancher.Fault = func(*http.Request) (f ranchertest.Fault) {
			if time.Now().Before(down) {
				f.Status = http.StatusServiceUnavailable
			}
			return f
		}
	})
	r.Say = func(e outputs.RunEvent) {
		said(t)(e)
		if e.Type == outputs.Written && strings.HasPrefix(e.Message, "patch") {
			w.rancher.Do(func() { down = time.Now().Add(1500 * time.Millisecond) }) // longer than a request has patience
		}
	}
	r.Until = transform.EnableLeaderMigration
	r.Timeout = time.Minute
	if err := r.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestATokenThatExpiresStopsTheRun(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	expired := false
	w.rancher.Do(func() {
		w.rancher.Fault = func(*http.Request) (f ranchertest.Fault) {
			if expired {
				f.Status = http.StatusUnauthorized
			}
			return f
		}
	})
	r.Confirm = func(_ context.Context, stage string) (bool, error) {
		w.rancher.Do(func() { expired = stage == transform.SwitchToExternal })
		return true, nil
	}
	err := r.Migrate(t.Context())
	var denied *kubeapi.Denied
	if !errors.As(err, &denied) || exitCode(err) != exitRefused {
		t.Fatalf("%v", err)
	}
	w.rancher.Do(func() { expired = false })
	if len(w.cordoned()) != 3 {
		t.Error("the test does not leave cordoned nodes behind")
	}
	w.rancher.Remove(worldLease)
	if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.finished(t, undisturbed(t))
}

func TestAMigrationDoesNotBeginWithoutTheRights(t *testing.T) {
	w := newWorld(t)
	w.rancher.Denied["patch nodes"] = true
	err := w.run(t, "one", said(t)).Migrate(t.Context())
	if exitCode(err) != exitRefused || !strings.Contains(fmt.Sprint(err), "patch nodes") || len(w.writes) > 0 {
		t.Errorf("%v %v", err, w.writes)
	}
}

func TestAMigrationDoesNotBeginOnAClusterThatIsOnItsWay(t *testing.T) {
	w := newWorld(t)
	w.mu.Lock()
	w.stuck = true
	w.mu.Unlock()
	w.rancher.Edit(worldPath, func(o map[string]any) {
		o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "aws"
		o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1"
	})
	err := w.run(t, "one", said(t)).Migrate(t.Context())
	if exitCode(err) != exitRefused || !strings.Contains(fmt.Sprint(err), "cluster-not-settled") || len(w.writes) > 0 {
		t.Errorf("%v %v", err, w.writes)
	}
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	w := newWorld(t)
	w.api.Do(func() { w.api.Nodes[2].Spec.ProviderID = "" })
	err := w.run(t, "one", said(t)).Migrate(t.Context())
	if exitCode(err) != exitFound || !strings.Contains(fmt.Sprint(err), "provider ID") || len(w.writes) > 0 {
		t.Errorf("%v %v", err, w.writes)
	}
	r := w.run(t, "two", said(t))
	r.Accept = []string{"provider-id-missing"}
	r.Until = transform.GrantMigrationLease
	if err := r.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	r.Way.Target.EndState = ""
	err := r.Migrate(t.Context())
	if exitCode(err) != exitFound || !strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") || len(w.writes) > 0 {
		t.Errorf("%v %v", err, w.writes)
	}
	r = w.run(t, "two", said(t))
	r.Way.Target.EndState = ""
	r.Until = transform.InstallCCM
	if err := r.Migrate(t.Context()); err != nil {
		t.Errorf("stages before it: %v", err)
	}
}

func TestWhoDeclinesAStageIsToldWhereTheClusterStands(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "one", said(t))
	r.Confirm = func(_ context.Context, stage string) (bool, error) { return stage != transform.SwitchToExternal, nil }
	err := r.Migrate(t.Context())
	if exitCode(err) != exitFailed || !strings.Contains(fmt.Sprint(err), "you did not want it") || !strings.Contains(fmt.Sprint(err), "the cloud-controller-manager waits for the migration lease") {
		t.Errorf("%v", err)
	}
	if left := w.cordoned(); len(left) > 0 {
		t.Errorf("cordoned: %v", left)
	}
}

func TestEtcdIsSnapshottedBeforeTheFirstWriteAndTheSwitch(t *testing.T) {
	w := newWorld(t)
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	r := w.run(t, "one", said(t))
	r.Etcd, r.AuditLog = true, log
	if err := r.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range audited(t, log) {
		if e.Phase == "intent" && (e.Act == "etcd-snapshot" || e.Act == "patch") {
			order = append(order, e.Act+" "+e.Stage)
		}
	}
	want := []string{
		"etcd-snapshot grant-migration-lease", "patch grant-migration-lease", "patch enable-leader-migration", "patch install-ccm",
		"etcd-snapshot switch-to-external", "patch switch-to-external", "patch disable-leader-migration",
	}
	if !slices.Equal(order, want) {
		t.Errorf("%v", order)
	}
}

// TestTheAuditLogNamesNoSecret also holds for Events and for what is shown.
func TestTheAuditLogNamesNoSecret(t *testing.T) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	w := newWorld(t)
	w.rancher.Edit(worldPath, func(o map[string]any) {
		o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["token"] = secret
	})
	w.follow()
	var shown bytes.Buffer
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	r := w.run(t, "one", func(e outputs.RunEvent) { outputs.WriteRunEvent(&shown, e) })
	r.AuditLog = log
	if err := r.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil || bytes.Contains(text, []byte(secret)) || strings.Contains(shown.String(), secret) {
		t.Errorf("%v %s %s", err, text, &shown)
	}
	events := 0
	for path, o := range w.rancher.Objects() {
		if strings.Contains(path, "/events/") {
			events++
			if strings.Contains(o, secret) {
				t.Error(o)
			}
		}
	}
	if results := len(audited(t, log)) / 2; events != results {
		t.Errorf("%d Events for %d acts", events, results)
	}
}
