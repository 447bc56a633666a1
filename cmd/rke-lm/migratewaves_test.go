// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
)

// onFleet runs a test over clusters of one Rancher, with the start of a command that migrates those of a selector.
func onFleet(t *testing.T, names string, test func(t *testing.T, f *migratetest.Fleet, migrate string)) {
	synctest.Test(t, func(t *testing.T) {
		f := migratetest.NewFleet(t, strings.Fields(names)...)
		test(t, f, "migrate"+toWorld(t, f.URL, f.Rancher)+" ")
	})
}

func TestMigrateWithASelectorMigratesInWavesAndReports(t *testing.T) {
	onFleet(t, "alder birch cedar", func(t *testing.T, _ *migratetest.Fleet, migrate string) {
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		r := shows(t, transform.ExitDone, migrate+"-l fleet=yes --canary birch --wave-size 1 --yes --audit-log "+log,
			"CLUSTER", "fleet-default/birch  canary  done   verify-provider-ids", "fleet-default/alder  wave-2", "fleet-default/cedar  wave-3", "done: 3, failed: 0, not started: 0\n")
		assert.True(t, !strings.Contains(r.stdout, "to continue"), r.stdout)
		first, last := strings.Index(r.stderr, "fleet-default/birch: starts in canary\n"), strings.Index(r.stderr, "fleet-default/cedar: done\n")
		assert.True(t, first >= 0 && last >= 0 && strings.Index(r.stderr, "fleet-default/alder: starts") >= strings.Index(r.stderr, "fleet-default/birch: done"), r.stderr)
		shows(t, transform.ExitDone, migrate+"-l fleet=yes --yes", "!patch Cluster")
	})
}

func TestTheLastValueOfAStreamOverManyClustersIsTheReport(t *testing.T) {
	onFleet(t, "alder birch cedar", func(t *testing.T, f *migratetest.Fleet, command string) {
		f.Worlds["alder"].Stick(true)
		r := shows(t, transform.ExitFailed, command+"-l fleet --wave-size 2 --max-unavailable 2 --yes -o json --timeout 1m --until enable-leader-migration")
		assert.True(t, r.stderr == "" || strings.HasPrefix(r.stderr, "WARNING"), r.stderr)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		made := decoded[report.Migration](t, lines[len(lines)-1])
		assert.Must(t, made.Kind == "Migration" && made.Done == 1 && made.Failed == 1 && made.NotStarted == 1 && made.Stopped != "", made)
		failed := made.Clusters[0]
		assert.True(t, failed.Cluster == "fleet-default/alder" && failed.State == transition.Failed && failed.ExitCode == transform.ExitFailed && !failed.Since.IsZero() && failed.End != nil, failed)
		for _, want := range []string{"rke-lm migrate --cluster=fleet-default/alder", " --until=enable-leader-migration --yes"} {
			assert.True(t, strings.Contains(failed.End.Continue, want) && !strings.Contains(failed.End.Continue, "wave") && !strings.Contains(failed.End.Continue, "selector"), failed.End.Continue)
		}
		assert.Truef(t, strings.Contains(failed.End.Revert, "rke-lm rollback --cluster=fleet-default/alder") && strings.Contains(made.Continue, "rke-lm migrate") && strings.Contains(made.Continue, "--selector=fleet"), "%s\n%s", failed.End.Revert, made.Continue)
		kinds := map[string]bool{}
		for _, line := range lines[:len(lines)-1] {
			e := decoded[report.RunEvent](t, line)
			assert.True(t, e.Kind == "RunEvent" && !e.Time.IsZero(), line)
			kinds[e.Cluster+" "+e.Type] = true
		}
		for _, want := range []string{"fleet-default/alder " + migrate.Stopped, "fleet-default/birch " + migrate.Finished, "fleet-default/birch " + migrate.Watched} {
			assert.Truef(t, kinds[want], "%s: %v", want, kinds)
		}
	})
}

func TestThePageOfManyRunsHasASectionForEach(t *testing.T) {
	onFleet(t, "alder birch cedar", func(t *testing.T, f *migratetest.Fleet, migrate string) {
		f.Worlds["alder"].Stick(true)
		r := shows(t, transform.ExitFailed, migrate+"-l fleet --wave-size 2 --max-unavailable 2 --yes -o html --timeout 1m --until enable-leader-migration", "done: 1, failed: 1, not started: 1")
		for _, want := range []string{`data-state="failed"`, `data-state="done"`, `data-state="waiting"`, `>3 of 3<`} {
			assert.Equal(t, strings.Count(r.stdout, want), 1, want, r.stdout)
		}
	})
}

func TestAClusterThatCannotBePlannedKeepsAllFromStarting(t *testing.T) {
	onFleet(t, "alder birch", func(t *testing.T, f *migratetest.Fleet, migrate string) {
		f.Rancher.Edit(f.Worlds["birch"].Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "vsphere"
		})
		shows(t, transform.ExitRefused, migrate+"-l fleet --yes", "done: 0, failed: 1, not started: 1 (more clusters failed than are tolerated)")
		assert.Equal(t, f.Worlds["alder"].Patches(), 0)
		shows(t, transform.ExitRefused, migrate+"-l fleet --yes --max-failures 1 --until grant-migration-lease", "done: 1, failed: 1, not started: 0\n")
	})
}

func TestFlagsForManyClustersAreUsedAsTheyShould(t *testing.T) {
	onFleet(t, "alder birch", func(t *testing.T, f *migratetest.Fleet, migrate string) {
		for flags, want := range map[string]string{
			"--cluster alder --yes --wave-size 2": "--wave-size requires --selector; add it, or remove --wave-size",
			"--cluster alder --yes -l fleet":      "cannot be used together; use one of them",
			"-l fleet --yes --wave-size -1":       "--wave-size -1 is negative",
			"-l fleet --yes --max-failures -1":    "--max-failures -1 is negative",
			"-l fleet --yes --max-unavailable 0":  "no cluster could start",
			"-l fleet --yes --canary elm":         "--canary elm: no such cluster among those with the labels",
			"-l fleet":                            "there is no terminal for the confirmation; add --yes",
			"-l 'fleet in (' --yes":               "invalid label selector",
		} {
			shows(t, transform.ExitInput, migrate+flags, want)
		}
		shows(t, transform.ExitRefused, migrate+"-l fleet=no --yes", "no such cluster with these labels")
		f.Rancher.Do(func() { f.Rancher.Gated = true })
		// Waves over a part of the clusters would not be those that were requested.
		r := shows(t, transform.ExitRefused, migrate+"-l fleet --yes")
		assert.True(t, f.Worlds["alder"].Patches() == 0 && r.stdout == "", r)
	})
}
