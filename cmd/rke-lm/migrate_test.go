// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// commandOn runs a verb on a world, as a person would.
func commandOn(t *testing.T, w *migratetest.World, words ...string) (code int, out, said string) {
	t.Helper()
	r := runHere(t, "", append(words, "--rancher-url", w.URL, "--token-file", w.Rancher.TokenFile(t), "--insecure-skip-tls-verify")...)
	return r.code, r.stdout, r.stderr
}

func TestTheStreamOfARunIsJSONLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		code, out, said := commandOn(t, w, "migrate", "--cluster", "orchard", "--yes", "-o", "json", "--until", "enable-leader-migration")
		assert.Mustf(t, code == exitcode.Done, "%d %s", code, said)
		var types, names []string
		var last report.RunEvent
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			last = report.RunEvent{}
			err := json.Unmarshal(lines.Bytes(), &last)
			assert.Mustf(t, err == nil && last.Kind == "RunEvent" && last.APIVersion == "rke-lm/v1" && last.Cluster == "fleet-default/orchard" && !last.Time.IsZero(), "%v %s", err, lines.Bytes())
			types, names = append(types, last.Type), append(names, last.Stage)
		}
		for _, want := range []string{migrate.Began, migrate.Staged, migrate.Written, migrate.Checked, migrate.Finished} {
			assert.Truef(t, slices.Contains(types, want), "no %s among %v", want, types)
		}
		assert.True(t, last.Type == migrate.Finished && last.End != nil && slices.Equal(last.End.Done, []string{stages.GrantMigrationLease, stages.EnableLeaderMigration}), last)
		assert.True(t, !slices.Contains(names, stages.InstallCCM), names)
	})
}

func TestThePageOfARunShowsItsStagesWhateverItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		line := []string{"migrate", "--cluster", "orchard", "--yes", "-o", "html", "--timeout", "1m", "--until"}
		code, out, said := commandOn(t, w, append(line, "enable-leader-migration")...)
		assert.Mustf(t, code == exitcode.Done && strings.Contains(said, "ok "), "%d %s", code, said)
		for _, want := range []string{`class="state done">done<`, `title="enable-leader-migration: `, `<span class="added">+`, ">patch Cluster.provisioning.cattle.io fleet-default/orchard<", "Stages that are done: grant-migration-lease, enable-leader-migration."} {
			assert.Contains(t, out, want)
		}
		w.Stick(true)
		code, out, said = commandOn(t, w, append(line, "install-ccm")...)
		assert.Truef(t, code == exitcode.Failed && strings.Contains(said, "to continue: ") && strings.Contains(out, `class="state failed">failed<`) && strings.Contains(out, "<h3>Error</h3>") && strings.Count(out, "To continue:") == 1, "%d %s\n%s", code, said, out)
	})
}

// A file has to think of all labels that machines may have; a Rancher shows them.
func TestAClusterWhoseSelectorsMatchManyLabelsIsMigrated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		w.Rancher.Edit(w.Path, func(o map[string]any) {
			config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)
			delete(config, "machinePools")
			var entries []any
			for i := range 12 {
				entries = append(entries, map[string]any{
					"config":               map[string]any{"kubelet-arg": []any{fmt.Sprintf("v=%d", i)}},
					"machineLabelSelector": map[string]any{"matchLabels": map[string]any{fmt.Sprintf("label-%d", i): "yes"}},
				})
			}
			config["machineSelectorConfig"] = entries
		})
		w.Follow()
		for _, words := range [][]string{
			{"plan"}, {"explain"}, {"lint"}, {"status"},
			{"apply", "--next"},
			{"migrate", "--yes"}, {"rollback", "--yes", "--canonical"},
		} {
			if words[0] != "status" {
				words = append(words, "--cluster", "orchard")
			}
			code, out, said := commandOn(t, w, words...)
			assert.Truef(t, code <= exitcode.Found && !strings.Contains(out+said, "so many labels"), "%s: %d %s %s", words[0], code, out, said)
		}
	})
}

func TestARunThatStopsSaysTheCommandsToContinueAndToRollBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		w.Rancher.Edit(w.Path, func(o map[string]any) { o["metadata"].(map[string]any)["annotations"] = map[string]any{"a": "b"} })
		w.Stick(true)
		code, out, said := commandOn(t, w, "migrate", "--cluster", "fleet-default/orchard", "--yes", "--timeout", "100ms", "--until", "enable-leader-migration", "--accept", "address-flapping")
		assert.Mustf(t, code == exitcode.Failed && strings.Contains(said, "stopped at enable-leader-migration"), "%d %s %s", code, out, said)
		for _, want := range []string{
			"to continue: rke-lm migrate --accept=address-flapping --cluster=fleet-default/orchard --insecure-skip-tls-verify --rancher-url=" + w.URL,
			" --until=enable-leader-migration --yes\n", "to roll back: rke-lm rollback --accept=address-flapping",
		} {
			assert.Contains(t, said, want)
		}
		_, back, _ := strings.Cut(said, "Kubernetes 1.27 and later have no in-tree provider to roll back to")
		assert.True(t, !strings.Contains(back, "until"), back)
	})
}

func TestVerbsThatRunStagesAreUsedAsTheyShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		for _, c := range []struct {
			words []string
			code  int
			want  string
		}{
			{[]string{"migrate", "--cluster", "orchard"}, exitcode.Input, "there is no terminal for the confirmation; add --yes"},
			{[]string{"migrate", "--yes"}, exitcode.Input, "no cluster; add --cluster NAMESPACE/NAME, or its ID"},
			{[]string{"migrate", "--yes", "--cluster", "orchard", "--until", "x"}, exitcode.Input, "--until x is not known"},
			{[]string{"rollback", "--yes", "--cluster", "orchard", "--to", "x"}, exitcode.Input, "--to x is not known"},
			{[]string{"migrate", "--yes", "--cluster", "orchard", "--manual-done", "x"}, exitcode.Input, "--manual-done x is not known"},
			{[]string{"migrate", "--yes", "--cluster", "orchard", "-o", "yaml"}, exitcode.Input, "--output yaml is not known"},
			{[]string{"migrate", "--yes", "--cluster", "unknown"}, exitcode.Input, "no such cluster"},
			{[]string{"migrate", "--yes", "--cluster", "orchard", "--accept", "no-rule"}, exitcode.Input, "--accept no-rule: no such rule"},
			{[]string{"migrate", "--yes", "--cluster", "orchard", "--no-leader-migration", "--until", "grant-migration-lease"}, exitcode.Input, "has no stage grant-migration-lease"},
		} {
			if code, _, said := commandOn(t, w, c.words...); code != c.code || !strings.Contains(said, c.want) {
				t.Errorf("%v: %d %s", c.words, code, said)
			}
		}
	})
}

func TestRulesOfLiveClustersCanBeAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		code, _, said := commandOn(t, w, "rollback", "--yes", "--cluster", "orchard", "--accept", "node-new")
		assert.Equal(t, code, exitcode.Done, said)
	})
}
