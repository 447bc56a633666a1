// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// commandOnFleet runs migrate on several clusters, as a person would.
func commandOnFleet(t *testing.T, f *migratetest.Fleet, words ...string) ran {
	t.Helper()
	return runHere(t, "", append([]string{"migrate", "--rancher-url", f.URL, "--token-file", f.Rancher.TokenFile(t), "--insecure-skip-tls-verify"}, words...)...)
}

func TestMigrateWithASelectorMigratesInWavesAndReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder", "birch", "cedar")
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		r := commandOnFleet(t, f, "-l", "fleet=yes", "--canary", "birch", "--wave-size", "1", "--yes", "--audit-log", log)
		assert.Must(t, r.code == exitcode.Done, r)
		for _, want := range []string{"CLUSTER", "fleet-default/birch  canary  done   verify-provider-ids", "fleet-default/alder  wave-2", "fleet-default/cedar  wave-3", "done: 3, failed: 0, not started: 0\n"} {
			assert.Truef(t, strings.Contains(r.stdout, want), "%q is not in\n%s", want, r.stdout)
		}
		assert.True(t, !strings.Contains(r.stdout, "to continue"), r.stdout)
		first, last := strings.Index(r.stderr, "fleet-default/birch: starts in canary\n"), strings.Index(r.stderr, "fleet-default/cedar: done\n")
		assert.True(t, first >= 0 && last >= 0 && strings.Index(r.stderr, "fleet-default/alder: starts") >= strings.Index(r.stderr, "fleet-default/birch: done"), r.stderr)
		again := commandOnFleet(t, f, "-l", "fleet=yes", "--yes")
		assert.True(t, again.code == exitcode.Done && !strings.Contains(again.stderr, "patch Cluster"), again)
	})
}

func TestTheLastValueOfAStreamOverManyClustersIsTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder", "birch", "cedar")
		f.Worlds["alder"].Stick(true)
		r := commandOnFleet(t, f, "-l", "fleet", "--wave-size", "2", "--max-unavailable", "2", "--yes", "-o", "json", "--timeout", "1m", "--until", "enable-leader-migration")
		assert.Must(t, r.code == exitcode.Failed && (r.stderr == "" || strings.HasPrefix(r.stderr, "WARNING")), r)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		var made report.Migration
		err := json.Unmarshal([]byte(lines[len(lines)-1]), &made)
		assert.Mustf(t, err == nil && made.Kind == "Migration" && made.Done == 1 && made.Failed == 1 && made.NotStarted == 1 && made.Stopped != "", "%v %+v", err, made)
		failed := made.Clusters[0]
		assert.True(t, failed.Cluster == "fleet-default/alder" && failed.State == waves.Failed && failed.ExitCode == exitcode.Failed && failed.Since != nil && failed.End != nil, failed)
		for _, want := range []string{"rke-lm migrate --cluster=fleet-default/alder", " --until=enable-leader-migration --yes"} {
			assert.True(t, strings.Contains(failed.End.Continue, want) && !strings.Contains(failed.End.Continue, "wave") && !strings.Contains(failed.End.Continue, "selector"), failed.End.Continue)
		}
		assert.Truef(t, strings.Contains(failed.End.Revert, "rke-lm rollback --cluster=fleet-default/alder") && strings.Contains(made.Continue, "rke-lm migrate") && strings.Contains(made.Continue, "--selector=fleet"), "%s\n%s", failed.End.Revert, made.Continue)
		kinds := map[string]bool{}
		for _, line := range lines[:len(lines)-1] {
			var e report.RunEvent
			err := json.Unmarshal([]byte(line), &e)
			assert.Mustf(t, err == nil && e.Kind == "RunEvent" && !e.Time.IsZero(), "%v %s", err, line)
			kinds[e.Cluster+" "+e.Type] = true
		}
		for _, want := range []string{"fleet-default/alder " + migrate.Stopped, "fleet-default/birch " + migrate.Finished, "fleet-default/birch " + migrate.Watched} {
			assert.Truef(t, kinds[want], "%s: %v", want, kinds)
		}
	})
}

func TestThePageOfManyRunsHasASectionForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder", "birch", "cedar")
		f.Worlds["alder"].Stick(true)
		r := commandOnFleet(t, f, "-l", "fleet", "--wave-size", "2", "--max-unavailable", "2", "--yes", "-o", "html", "--timeout", "1m", "--until", "enable-leader-migration")
		assert.Mustf(t, r.code == exitcode.Failed && strings.Contains(r.stderr, "done: 1, failed: 1, not started: 1"), "%d %s", r.code, r.stderr)
		for _, want := range []string{`data-state="failed"`, `data-state="done"`, `data-state="waiting"`, `>3 of 3<`} {
			assert.Equal(t, strings.Count(r.stdout, want), 1, want, r.stdout)
		}
	})
}

func TestAClusterThatCannotBePlannedKeepsAllFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder", "birch")
		f.Rancher.Edit(f.Worlds["birch"].Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "vsphere"
		})
		r := commandOnFleet(t, f, "-l", "fleet", "--yes")
		assert.True(t, r.code == exitcode.Refused && strings.Contains(r.stdout, "done: 0, failed: 1, not started: 1 (more clusters failed than are tolerated)") && f.Worlds["alder"].Patches() == 0, r)
		r = commandOnFleet(t, f, "-l", "fleet", "--yes", "--max-failures", "1", "--until", "grant-migration-lease")
		assert.True(t, r.code == exitcode.Refused && strings.Contains(r.stdout, "done: 1, failed: 1, not started: 0\n"), r)
	})
}

func TestFlagsForManyClustersAreUsedAsTheyShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder", "birch")
		for _, c := range []struct {
			words []string
			code  int
			want  string
		}{
			{[]string{"--cluster", "alder", "--yes", "--wave-size", "2"}, exitcode.Input, "--wave-size requires --selector; add it, or remove --wave-size"},
			{[]string{"--cluster", "alder", "--yes", "-l", "fleet"}, exitcode.Input, "cannot be used together; use one of them"},
			{[]string{"-l", "fleet", "--yes", "--wave-size", "-1"}, exitcode.Input, "--wave-size -1 is negative"},
			{[]string{"-l", "fleet", "--yes", "--max-failures", "-1"}, exitcode.Input, "--max-failures -1 is negative"},
			{[]string{"-l", "fleet", "--yes", "--max-unavailable", "0"}, exitcode.Input, "no cluster could start"},
			{[]string{"-l", "fleet", "--yes", "--canary", "elm"}, exitcode.Input, "--canary elm: no such cluster among those with the labels"},
			{[]string{"-l", "fleet"}, exitcode.Input, "there is no terminal for the confirmation; add --yes"},
			{[]string{"-l", "fleet=no", "--yes"}, exitcode.Refused, "no such cluster with these labels"},
			{[]string{"-l", "fleet in (", "--yes"}, exitcode.Input, "invalid label selector"},
		} {
			r := commandOnFleet(t, f, c.words...)
			assert.Truef(t, r.code == c.code && strings.Contains(r.stderr, c.want), "%v: %+v", c.words, r)
		}
	})
}

// Waves over a part of the clusters would not be those that were requested.
func TestClustersThatAreNotVisibleKeepAllFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, "alder")
		f.Rancher.Do(func() { f.Rancher.Gated = true })
		r := commandOnFleet(t, f, "-l", "fleet", "--yes")
		assert.True(t, r.code == exitcode.Refused && f.Worlds["alder"].Patches() == 0 && r.stdout == "", r)
	})
}
