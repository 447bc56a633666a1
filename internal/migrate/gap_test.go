// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// announced runs, and returns what is said of each stage before it is written.
func announced(t *testing.T, w *world, work work) map[string]string {
	t.Helper()
	printed, written := map[string]string{}, map[string]bool{}
	r := w.run(t, "one", func(e migrate.Event) {
		switch e.Type {
		case migrate.Written:
			written[e.Stage] = true
		case migrate.Staged:
			if printed[e.Stage] = e.Message; written[e.Stage] {
				t.Errorf("%s was written before it was announced", e.Stage)
			}
		}
	})
	assert.NilError(t, work(t.Context(), r))
	return printed
}

// Before a stage is written its gap is said, and the order of the machines where the
// stage changes some.
func TestARunSaysGapsAndTheOrderOfMachinesBeforeItWrites(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		order := "Rancher updates the machines in this order: orchard-servers-1 (" + apitest.NodeName(1) + "); then orchard-servers-0 (" + apitest.NodeName(0) + "), orchard-servers-2 (" + apitest.NodeName(2) + "), one at a time."
		forward := announced(t, w, migrate.Forward)
		for stage, gap := range map[string]string{
			stages.GrantMigrationLease: "", stages.InstallCCM: "", stages.EnableLeaderMigration: "a gap of 18 to 43 seconds",
			stages.SwitchToExternal: "a gap of 16 to 20 seconds", stages.DisableLeaderMigration: "a gap of 17 to 21 seconds",
		} {
			restarts := stage == stages.EnableLeaderMigration || stage == stages.SwitchToExternal
			text := forward[stage]
			assert.Truef(t, text != "" && strings.Contains(text, gap) && (gap != "" || !strings.Contains(text, " gap ")) && strings.Contains(text, order) == restarts, "%s: %q", stage, text)
		}
		back := announced(t, w, migrate.Backward)
		for stage, gap := range map[string]string{
			stages.DisableLeaderMigration: "a gap of 35 to 37 seconds", stages.SwitchToExternal: "no gap", stages.InstallCCM: "a gap of about 22 seconds",
			stages.EnableLeaderMigration: "a gap of about 32 seconds",
		} {
			restarts := stage == stages.EnableLeaderMigration || stage == stages.SwitchToExternal
			text := back[stage]
			assert.Truef(t, strings.HasPrefix(text, "Undoes the stage.") && strings.Contains(text, gap) && strings.Contains(text, order) == restarts, "back %s: %q", stage, text)
		}
	})
}

// The option is for the run alone: what an earlier one has made shows in the object, and on the cluster.
func TestARollbackReturnsTheTimingsOfShortLeasesUntilTheOtherManagerIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, w := range map[string]*world{"RKE2": rke2World(t), "RKE1": rke1World(t)} {
			before := w.Spec(t)
			assert.NilError(t, w.does(t, "one", migrate.Forward, shorter))
			s := w.Spec(t)
			assert.Truef(t, !strings.Contains(s, "leader-elect-renew-deadline=4s\""), "%s: kube-controller-manager keeps its timings: %s", name, s)
			assert.NilError(t, w.does(t, "two", migrate.Backward, canonical, downTo(stages.InstallCCM)))
			s = w.Spec(t)
			assert.ContainsAll(t, s, []string{"enable-leader-migration", "leader-elect-renew-deadline", "leader-elect-retry-period"}, name, "does not get the flags back")
			assert.NilError(t, w.does(t, "three", migrate.Backward, canonical))
			after := w.Spec(t)
			assert.Truef(t, !strings.Contains(after, "leader-elect") && !strings.Contains(after, "enable-leader-migration"), "%s: %s\n%s", name, before, after)
		}
	})
}
