// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// announced returns what a run says of each stage before it writes it.
func announced(t *testing.T, stream string) map[string]string {
	t.Helper()
	said, written := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(stream) {
		var e outputs.RunEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case outputs.Written:
			written[e.Stage] = true
		case outputs.Staged:
			if said[e.Stage] = e.Message; written[e.Stage] {
				t.Errorf("%s was written before it was announced", e.Stage)
			}
		}
	}
	return said
}

// Before a stage is written its gap is said, and the order of the machines where the
// stage changes some.
func TestARunSaysGapsAndTheOrderOfMachinesBeforeItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		code, out, said := w.command(t, "migrate", "--cluster", "orchard", "--end-state", "external", "--yes", "-o", "json")
		if code != exitcode.Done {
			t.Fatalf("%d %s", code, said)
		}
		order := "Rancher changes the machines in this order: orchard-servers-1 (" + apitest.NodeName(1) + "); then orchard-servers-0 (" + apitest.NodeName(0) + "), orchard-servers-2 (" + apitest.NodeName(2) + "), one after the other."
		forth := announced(t, out)
		for stage, gap := range map[string]string{
			transform.GrantMigrationLease: "", transform.InstallCCM: "", transform.EnableLeaderMigration: "a gap of 18 to 43 seconds",
			transform.SwitchToExternal: "a gap of 16 to 20 seconds", transform.DisableLeaderMigration: "a gap of 17 to 21 seconds",
		} {
			restarts := stage == transform.EnableLeaderMigration || stage == transform.SwitchToExternal
			if text := forth[stage]; text == "" || !strings.Contains(text, gap) || gap == "" && strings.Contains(text, " gap ") || strings.Contains(text, order) != restarts {
				t.Errorf("%s: %q", stage, text)
			}
		}
		code, out, said = w.command(t, "rollback", "--cluster", "orchard", "--end-state", "external", "--yes", "-o", "json")
		if code != exitcode.Done {
			t.Fatalf("%d %s", code, said)
		}
		back := announced(t, out)
		for stage, gap := range map[string]string{
			transform.DisableLeaderMigration: "a gap of 35 to 37 seconds", transform.SwitchToExternal: "No gap", transform.InstallCCM: "a gap of about 22 seconds",
			transform.EnableLeaderMigration: "a gap of about 32 seconds",
		} {
			restarts := stage == transform.EnableLeaderMigration || stage == transform.SwitchToExternal
			if text := back[stage]; !strings.HasPrefix(text, "Takes the stage back.") || !strings.Contains(text, gap) || strings.Contains(text, order) != restarts {
				t.Errorf("back %s: %q", stage, text)
			}
		}
	})
}
