// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

func TestALiveClusterOfRKETakesACopyOfTheValuesFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE1(t)
		t.Chdir(t.TempDir())
		putFile(t, "values.yaml", ownValues)
		cluster := []string{"--cluster", migratetest.RKE1ID, "--ccm-values", "values.yaml"}

		code, out, said := commandOn(t, w, append([]string{"plan", "--all", "--out", "plans"}, cluster...)...)
		assert.Mustf(t, code == exitcode.Done && strings.Contains(out, "helm gets a copy of values.yaml"), "%d %s\n%s", code, said, out)
		for pattern, flag := range map[string]bool{"plans/*/*/aws-ccm-values.yaml": true, "plans/*/*/aws-ccm-values-final.yaml": false} {
			files, err := filepath.Glob(pattern)
			assert.Mustf(t, err == nil && len(files) == 1, "%v %v", files, err)
			text := textOf(t, files[0])
			assert.Truef(t, strings.HasPrefix(text, "# Of the chart.\nargs:\n  - --v=4\n") && strings.Contains(text, "enable-leader-migration=true") == flag, "%s:\n%s", files[0], text)
		}

		code, _, said = commandOn(t, w, append([]string{"migrate", "--yes", "--until", "install-ccm"}, cluster...)...)
		assert.Mustf(t, code == exitcode.Done, "%d %s", code, said)
		text, err := os.ReadFile(w.Helm)
		assert.Truef(t, err == nil && strings.Contains(string(text), "# Of the chart.\nargs:\n  - --v=4\n") && textOf(t, "values.yaml") == ownValues, "%v %s", err, text)
	})
}

func TestAValuesFileOfALiveClusterIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rke1, rke2 := migratetest.NewRKE1(t), migratetest.NewRKE2(t)
		t.Chdir(t.TempDir())
		for name, text := range map[string]string{"values.yaml": ownValues, "two.yaml": "args: []\n---\nargs: []\n", "chart.yaml": "replicas: 3\n", "empty.yaml": "", "disk.yaml": "nodeSelector: {disk: fast}\n"} {
			putFile(t, name, text)
		}
		one := []string{"--cluster", migratetest.RKE1ID}
		for _, c := range []struct {
			of    *migratetest.World
			words []string
			want  string
		}{
			{rke1, append([]string{"migrate", "--yes", "--ccm-values", "two.yaml"}, one...), "two.yaml:3: a second document"},
			{rke1, append([]string{"migrate", "--yes", "--ccm-values", "chart.yaml"}, one...), "chart.yaml:1: no value of the chart"},
			{rke1, append([]string{"migrate", "--yes", "--ccm-values", "empty.yaml"}, one...), "empty.yaml:1: the values file has no values"},
			{rke1, append([]string{"migrate", "--yes", "--ccm-values", "missing.yaml"}, one...), "missing.yaml: cannot read it"},
			{rke1, append([]string{"migrate", "--yes", "--ccm-values", "disk.yaml"}, one...), "disk.yaml:1: nodeSelector.disk: nodeSelector asks for disk"},
			{rke1, append([]string{"rollback", "--yes", "--ccm-values", "chart.yaml"}, one...), "chart.yaml:1: no value of the chart"},
			{rke1, append([]string{"plan", "--ccm-values", "chart.yaml"}, one...), "chart.yaml:1: no value of the chart"},
			{rke1, append([]string{"apply", "--next", "--ccm-values", "values.yaml"}, one...), "--ccm-values: this command changes or checks files or objects"},
			{rke1, []string{"migrate", "--yes", "-l", "a=b", "--ccm-values", "values.yaml"}, "--ccm-values is of one cluster"},
			{rke2, []string{"migrate", "--yes", "--cluster", "orchard", "--ccm-values", "values.yaml"}, "only a cluster of RKE takes the values file"},
		} {
			c.of.Forget()
			code, _, said := commandOn(t, c.of, c.words...)
			assert.Truef(t, code == exitcode.Input && strings.Contains(said, c.want) && len(c.of.Writes()) == 0, "%v: exit %d, %v\n%s", c.words, code, c.of.Writes(), said)
		}
	})
}

func TestMigrateAndRollbackKeepTheValuesOfAReleaseOfRKE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE1(t)
		w.PutRelease(t, `{"args":["--v=2","--cloud-provider=aws","--configure-cloud-routes=false"],"image":{"repository":"mirror.example/hunter2"}}`+"\n")
		t.Chdir(t.TempDir())
		cluster := []string{"--cluster", migratetest.RKE1ID}
		w.Forget()
		code, out, said := commandOn(t, w, append([]string{"migrate", "--yes"}, cluster...)...)
		assert.Mustf(t, code == exitcode.Refused && strings.Contains(said, "(release-values-replaced)") && strings.Contains(said, ": image.repository ") && !strings.Contains(out+said, "hunter2") && len(w.Writes()) == 0, "exit %d, %v\n%s\n%s", code, w.Writes(), out, said)
		code, out, said = commandOn(t, w, append([]string{"plan", "--all"}, cluster...)...)
		assert.Truef(t, code == exitcode.Done && strings.Contains(out, "helm get values aws-cloud-controller-manager --namespace kube-system"), "exit %d\n%s\n%s", code, out, said)

		// What the message tells to write is the file that the next run takes.
		putFile(t, "values.yaml", w.Values(t))
		code, out, said = commandOn(t, w, append([]string{"migrate", "--yes", "--ccm-values", "values.yaml"}, cluster...)...)
		assert.Mustf(t, code == exitcode.Done && strings.Contains(w.Values(t), "mirror.example/hunter2") && !strings.Contains(out+said, "release-values"), "exit %d\n%s\n%s", code, out, said)
		w.Forget()
		code, out, said = commandOn(t, w, append([]string{"rollback", "--yes", "--canonical", "--to", "switch-to-external"}, cluster...)...)
		assert.Truef(t, code == exitcode.Refused && strings.Contains(said, ": image.repository ") && !strings.Contains(out+said, "hunter2") && len(w.Writes()) == 0, "exit %d, %v\n%s\n%s", code, w.Writes(), out, said)
	})
}
