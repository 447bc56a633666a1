// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// logged shows the events of a run in the log of its test.
func logged(t *testing.T) func(migrate.Event) {
	text := &report.RunText{Out: t.Output(), Err: t.Output()}
	return func(e migrate.Event) { text.Write(report.NewRunEvent(e)) }
}

// undisturbed is what a migration makes of the world.
func undisturbed(t *testing.T) string {
	t.Helper()
	if undisturbedSpec == "" {
		undisturbedSpec = migrated(t).Spec(t)
	}
	return undisturbedSpec
}

var undisturbedSpec string

// finished expects a world at the end of a migration.
func (w *world) finished(t *testing.T, want string) {
	t.Helper()
	got := w.Spec(t)
	assert.Truef(t, got == want, "the object is not that of an undisturbed run:\n%s\n%s", got, want)
	assert.EqualSlices(t, w.Cordoned(), nil, "cordoned")
	assert.Equal(t, w.Rancher.Object(w.Lock), "", "the lock was not released")
}

// audited reads an audit log, in which every intent has one result.
func audited(t *testing.T, file string) []migrate.Entry {
	t.Helper()
	text := assert.Value(os.ReadFile(file))(t)
	list := assert.Value(migrate.ReadAudit(text))(t)
	intents := 0
	for _, e := range list {
		if e.Phase == migrate.Intent {
			intents++
		}
	}
	open := migrate.Unfinished(list)
	assert.Truef(t, len(open) == 0 && 2*intents == len(list), "%d intents in %d entries, without a result: %v", intents, len(list), open)
	return list
}

func TestAStageMayBeTheLast(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		half := func() {
			t.Helper()
			s := w.Spec(t)
			assert.True(t, strings.Contains(s, "HelmChart") && !strings.Contains(s, `"external"`) && strings.Contains(s, `"enable-leader-migration"`), s)
		}
		assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.InstallCCM)))
		half()
		w.migrate(t, "two")
		w.finished(t, undisturbed(t))
		assert.NilError(t, w.does(t, "three", migrate.Backward, downTo(stages.InstallCCM)))
		half()
		w.migrate(t, "four")
		w.finished(t, undisturbed(t))
	})
}

func TestNodesThatSomeoneElseCordonedStayCordoned(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.API.Do(func() { w.API.Nodes[1].Spec.Unschedulable = true })
		w.migrate(t, "one")
		assert.EqualSlices(t, w.Cordoned(), []string{w.API.Nodes[1].Name}, "cordoned")
		assert.Equal(t, len(w.API.Nodes[1].Annotations), 0)
	})
}

func TestEtcdIsSnapshottedBeforeTheFirstWriteAndTheSwitch(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		assert.NilError(t, w.does(t, "one", migrate.Forward, snapshotting, auditing(log)))
		var order []string
		for _, e := range audited(t, log) {
			if e.Phase == migrate.Intent && (e.Act == "etcd-snapshot" || e.Act == "patch") {
				order = append(order, e.Act+" "+e.Stage)
			}
		}
		want := []string{
			"etcd-snapshot grant-migration-lease", "patch grant-migration-lease", "patch enable-leader-migration", "patch install-ccm",
			"etcd-snapshot switch-to-external", "patch switch-to-external", "patch disable-leader-migration",
		}
		assert.EqualSlices(t, order, want)
	})
}

// TestTheAuditLogNamesNoSecret also holds for Events and for what is shown.
func TestTheAuditLogNamesNoSecret(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		const secret = "AKIAIOSFODNN7EXAMPLE"
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) { machineConfig(o)["token"] = secret })
		w.Follow()
		var shown bytes.Buffer
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		show := hearing(func(e migrate.Event) { fmt.Fprintln(&shown, yamledit.JSON(report.NewRunEvent(e))) })
		assert.NilError(t, w.does(t, "one", migrate.Forward, auditing(log), show))
		printed := shown.String() + string(assert.Value(os.ReadFile(log))(t))
		assert.True(t, !strings.Contains(printed, secret), printed)
		events := 0
		for path, o := range w.Rancher.Objects() {
			if strings.Contains(path, "/events/") {
				events++
				assert.True(t, !strings.Contains(o, secret), o)
			}
		}
		assert.Equal(t, events, len(audited(t, log))/2, "Events for acts")
	})
}

// The last edit ends the process that led, and the run waits for the next one.
func TestTheLastStageIsDoneWhenSomeoneLeads(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		want := undisturbed(t)
		w.Gap = 17 * time.Second
		assert.NilError(t, migrate.Forward(t.Context(), w.run(t, "one", nil)))
		assert.True(t, w.Led.Load(), "the run ended while no one led")
		w.finished(t, want)
	})
}

func TestTheSwitchAloneIsUndoneWithoutLeaderMigration(t *testing.T) {
	on(t, after(rke2World, alone), func(t *testing.T, w *world) {
		assert.NilError(t, w.does(t, "half", migrate.Backward, alone, downTo(stages.InstallCCM)))
		s := w.Spec(t)
		assert.Truef(t, strings.Contains(s, "HelmChart") && !strings.Contains(s, `"external"`), "the chart stays and the switch goes: %s", s)
		assert.NilError(t, w.does(t, "two", migrate.Backward, alone))
		w.finished(t, w.before)
	})
}
