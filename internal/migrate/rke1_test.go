// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAHelmThatFailsSaysWhyWithoutSecrets(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.PutHelm(t, "#!/bin/sh\n[ \"$1\" = upgrade ] || { echo 'Error: release: not found' >&2; exit 1; }\necho 'Error: chart not found, password=hunter2' >&2\nexit 1\n")
		err := w.does(t, "one", migrate.Forward)
		assert.True(t, err != nil && transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(err.Error(), "helm upgrade: exit status 1: Error: chart not found") && !strings.Contains(err.Error(), "hunter2"), err)
	})
}

func TestNodesThatRKEReleasedAreReported(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.API.Do(func() { w.API.Nodes[1].Spec.Unschedulable = true })
		var notes []string
		noting := hearing(func(e migrate.Event) { notes = append(notes, e.Message) })
		assert.NilError(t, w.does(t, "one", migrate.Forward, noting, until(stages.GrantMigrationLease)))
		printed := strings.Join(notes, "\n")
		assert.True(t, strings.Count(printed, "was cordoned before the run") == 1 && strings.Contains(printed, w.API.Nodes[1].Name), printed)
	})
}

func TestHelmGetsWhatItNeedsAndLeavesNothing(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		read := func(kind string) string { return string(assert.Value(os.ReadFile(w.Helm + kind))(t)) }
		assert.True(t, strings.Contains(read(""), "--values aws-ccm-values-final.yaml") && !strings.Contains(read(""), "enable-leader-migration"), read(""))
		_, gone := os.Stat(strings.TrimSpace(read(".folder")))
		assert.True(t, os.IsNotExist(gone), "the folder of helm is left:", gone)
		assert.Contains(t, read(".kubeconfig"), "/k8s/clusters/"+migratetest.RKE1ID)
	})
}

func TestWithoutHelmTheStageSaysWhatToRun(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		t.Setenv("PATH", t.TempDir())
		err := w.does(t, "one", migrate.Forward)
		assert.Must(t, err != nil && transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(err.Error(), "helm upgrade --install aws-cloud-controller-manager"), err)
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
	return assert.Value(step.Files())(t)[0].Content
}

func TestMigrateInstallsTheChartWithTheValuesOfTheOperator(t *testing.T) {
	const own = "# Mine.\nargs:\n  - --v=4\n  - --cloud-provider=aws\npodAnnotations: {team: platform}\n"
	onRKE1(t, func(t *testing.T, w *world) {
		values := assert.Value(yamledit.ParseString("values.yaml", own))(t)
		with := func(_ *world, o *migrate.Options) { o.Planner.Target.Values = values }
		helm := func() string { return string(assert.Value(os.ReadFile(w.Helm))(t)) }
		assert.NilError(t, w.does(t, "one", migrate.Forward, canonical, with, until(stages.InstallCCM)))
		text := helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && strings.Contains(text, "team: platform") && strings.Contains(text, "--enable-leader-migration=true"), text)
		assert.NilError(t, w.does(t, "two", migrate.Forward, canonical, with))
		text = helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && !strings.Contains(text, "enable-leader-migration"), text)
		w.Forget()
		assert.NilError(t, w.does(t, "three", migrate.Forward, canonical, with))
		assert.EqualSlices(t, w.Writes(), nil, "a second one")
		assert.NilError(t, w.does(t, "four", migrate.Backward, canonical, with, downTo(stages.SwitchToExternal)))
		text = helm()
		assert.True(t, strings.Contains(text, "# Mine.\nargs:\n  - --v=4\n") && strings.Contains(text, "--enable-leader-migration=true"), text)
		assert.Equal(t, string(values.Bytes()), own, "the operator's own file is changed")
	})
}
