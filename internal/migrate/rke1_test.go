// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAHelmThatFailsSaysWhyWithoutSecrets(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		script := "#!/bin/sh\n[ \"$1\" = upgrade ] || { echo 'Error: release: not found' >&2; exit 1; }\necho 'Error: chart not found, password=hunter2' >&2\nexit 1\n"
		assert.NilError(t, os.WriteFile(filepath.Join(folder, "helm"), []byte(script), 0o700))
		t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		assert.True(t, err != nil && exitcode.Of(err) == exitcode.Failed && strings.Contains(err.Error(), "helm upgrade: exit status 1: Error: chart not found") && !strings.Contains(err.Error(), "hunter2"), err)
	})
}

func TestNodesThatRKEReleasedAreReported(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.API.Do(func() { w.API.Nodes[1].Spec.Unschedulable = true })
		var notes []string
		r := w.run(t, "one", func(e migrate.Event) { notes = append(notes, e.Message) })
		r.Until = stages.GrantMigrationLease
		assert.NilError(t, migrate.Forward(t.Context(), r))
		said := strings.Join(notes, "\n")
		assert.True(t, strings.Count(said, "was cordoned before the run") == 1 && strings.Contains(said, w.API.Nodes[1].Name), said)
	})
}

func TestHelmGetsWhatItNeedsAndLeavesNothing(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		text, err := os.ReadFile(w.Helm)
		assert.Truef(t, err == nil && strings.Contains(string(text), "--values aws-ccm-values-final.yaml") && !strings.Contains(string(text), "enable-leader-migration"), "%v %s", err, text)
		folder, err := os.ReadFile(w.Helm + ".folder")
		_, gone := os.Stat(strings.TrimSpace(string(folder)))
		assert.Truef(t, err == nil && os.IsNotExist(gone), "the folder of helm is left: %v %v", err, gone)
		config, err := os.ReadFile(w.Helm + ".kubeconfig")
		assert.Truef(t, err == nil && strings.Contains(string(config), "/k8s/clusters/"+migratetest.RKE1ID), "%v %s", err, config)
	})
}

func TestWithoutHelmTheStageSaysWhatToRun(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		t.Setenv("PATH", t.TempDir())
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		assert.Must(t, err != nil && exitcode.Of(err) == exitcode.Failed && strings.Contains(err.Error(), "helm upgrade --install aws-cloud-controller-manager"), err)
		// Someone runs it.
		assert.NilError(t, os.WriteFile(w.Helm, []byte("upgrade by hand\n"+valuesOf(t, w)), 0o600))
		w.Follow()
		assert.NilError(t, w.does(t, "two", migrate.Forward, until(stages.UncordonControlPlane)))
		assert.Contains(t, w.Spec(t), `"external-aws"`)
	})
}

// valuesOf are the chart's values of the plan.
func valuesOf(t *testing.T, w *world) string {
	t.Helper()
	d := assert.Value(yamledit.ParseString("curlew", w.Rancher.Object(w.Path)))(t)
	p := assert.Value(plan.Build(w.Format, transform.Only(d), transform.Target{EndState: transform.EndStateExternal}))(t)
	step, _ := p.Step(stages.InstallCCM)
	files := assert.Value(step.Files())(t)
	return files[0].Content
}

func TestMigrateInstallsTheChartWithTheValuesOfTheOperator(t *testing.T) {
	const own = "# Mine.\nargs:\n  - --v=4\n  - --cloud-provider=aws\npodAnnotations: {team: platform}\n"
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	synctest.Test(t, func(t *testing.T) {
		values := assert.Value(yamledit.ParseString("values.yaml", own))(t)
		w := rke1World(t)
		with := func(agent, until string) migrate.Options {
			r := w.run(t, agent, logged(t))
			r.Until, r.Planner.Target.Values, r.Planner.Target.CanonicalForm = until, values, true
			return r
		}
		helm := func() string {
			text := assert.Value(os.ReadFile(w.Helm))(t)
			return string(text)
		}
		assert.NilError(t, migrate.Forward(t.Context(), with("one", stages.InstallCCM)))
		text := helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && strings.Contains(text, "team: platform") && strings.Contains(text, "--enable-leader-migration=true"), text)
		assert.NilError(t, migrate.Forward(t.Context(), with("two", "")))
		text = helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && !strings.Contains(text, "enable-leader-migration"), text)
		w.Forget()
		err := migrate.Forward(t.Context(), with("three", ""))
		assert.Truef(t, err == nil && len(w.Writes()) == 0, "a second one: %v %v", err, w.Writes())
		r := with("four", "")
		r.Planner.To = stages.SwitchToExternal
		assert.NilError(t, migrate.Backward(t.Context(), r))
		text = helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && strings.Contains(text, "--enable-leader-migration=true"), text)
		assert.Equal(t, string(values.Bytes()), own, "the operator's own file is changed")
	})
}
