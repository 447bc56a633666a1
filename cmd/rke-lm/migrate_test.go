// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// toWorld are the flags that lead to a Rancher of migratetest, at its address.
func toWorld(t *testing.T, url string, r *ranchertest.Server) string {
	return " --rancher-url " + url + " --token-file " + r.TokenFile(t) + " --insecure-skip-tls-verify"
}

// onWorld runs a test over a cluster of RKE2, with the flags that lead to it.
func onWorld(t *testing.T, test func(t *testing.T, w *migratetest.World, to string)) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE2(t)
		test(t, w, toWorld(t, w.URL, w.Rancher))
	})
}

func TestTheStreamOfARunIsJSONLines(t *testing.T) {
	onWorld(t, func(t *testing.T, _ *migratetest.World, to string) {
		out := shows(t, transform.ExitDone, "migrate --cluster orchard --yes -o json --until enable-leader-migration"+to).stdout
		var types, names []string
		var last report.RunEvent
		for line := range strings.Lines(out) {
			last = decoded[report.RunEvent](t, line)
			assert.True(t, last.Kind == "RunEvent" && last.APIVersion == "rke-lm/v1" && last.Cluster == "fleet-default/orchard" && !last.Time.IsZero(), line)
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
	onWorld(t, func(t *testing.T, w *migratetest.World, to string) {
		const line = "migrate --cluster orchard --yes -o html --timeout 1m --until "
		r := shows(t, transform.ExitDone, line+"enable-leader-migration"+to, `class="state done">done<`, `title="enable-leader-migration: `, `<span class="added">+`, ">patch Cluster.provisioning.cattle.io fleet-default/orchard<", "Stages that are done: grant-migration-lease, enable-leader-migration.")
		assert.Contains(t, r.stderr, "ok ")
		w.Stick(true)
		r = shows(t, transform.ExitFailed, line+"install-ccm"+to, `class="state failed">failed<`, "<h3>Error</h3>")
		assert.Equal(t, strings.Count(r.stdout, "To continue:"), 1, r.stdout)
		assert.Contains(t, r.stderr, "to continue: ")
	})
}

// A file has to think of all labels that machines may have; a Rancher shows them.
func TestAClusterWhoseSelectorsMatchManyLabelsIsMigrated(t *testing.T) {
	onWorld(t, func(t *testing.T, w *migratetest.World, to string) {
		w.Rancher.Edit(w.Path, func(o map[string]any) {
			config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)
			delete(config, "machinePools")
			config["machineSelectorConfig"] = manySelectors()
		})
		w.Follow()
		for _, line := range []string{"plan --cluster orchard", "explain --cluster orchard", "lint --cluster orchard", "status", "apply --next --cluster orchard", "migrate --yes --cluster orchard", "rollback --yes --canonical --cluster orchard"} {
			r := runHere(t, "", strings.Fields(line+to)...)
			assert.Truef(t, r.code <= transform.ExitFound && !strings.Contains(r.stdout+r.stderr, "so many labels"), "%s: %+v", line, r)
		}
	})
}

func TestARunThatStopsSaysTheCommandsToContinueAndToRollBack(t *testing.T) {
	onWorld(t, func(t *testing.T, w *migratetest.World, to string) {
		w.Rancher.Edit(w.Path, func(o map[string]any) { o["metadata"].(map[string]any)["annotations"] = map[string]any{"a": "b"} })
		w.Stick(true)
		r := shows(t, transform.ExitFailed, "migrate --cluster fleet-default/orchard --yes --timeout 100ms --until enable-leader-migration --accept address-flapping"+to, "stopped at enable-leader-migration",
			"to continue: rke-lm migrate --accept=address-flapping --cluster=fleet-default/orchard --insecure-skip-tls-verify --rancher-url="+w.URL,
			" --until=enable-leader-migration --yes\n", "to roll back: rke-lm rollback --accept=address-flapping")
		_, back, _ := strings.Cut(r.stderr, "Kubernetes 1.27 and later have no in-tree provider to roll back to")
		assert.True(t, !strings.Contains(back, "until"), back)
	})
}

func TestVerbsThatRunStagesAreUsedAsTheyShould(t *testing.T) {
	onWorld(t, func(t *testing.T, _ *migratetest.World, to string) {
		for line, want := range map[string]string{
			"migrate --cluster orchard":                                                           "there is no terminal for the confirmation; add --yes",
			"migrate --yes":                                                                       "no cluster; add --cluster NAMESPACE/NAME, or its ID",
			"migrate --yes --cluster orchard --until x":                                           "--until x is not known",
			"rollback --yes --cluster orchard --to x":                                             "--to x is not known",
			"migrate --yes --cluster orchard --manual-done x":                                     "--manual-done x is not known",
			"migrate --yes --cluster orchard -o yaml":                                             "--output yaml is not known",
			"migrate --yes --cluster unknown":                                                     "no such cluster",
			"migrate --yes --cluster orchard --accept no-rule":                                    "--accept no-rule: no such rule",
			"migrate --yes --cluster orchard --no-leader-migration --until grant-migration-lease": "has no stage grant-migration-lease",
		} {
			shows(t, transform.ExitInput, line+to, want)
		}
		shows(t, transform.ExitDone, "rollback --yes --cluster orchard --accept node-new"+to) // a rule of live clusters
	})
}
