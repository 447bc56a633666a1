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
	"github.com/rke-lm/rke-lm/transform"
)

func TestALiveClusterOfRKETakesACopyOfTheValuesFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE1(t)
		here(t, map[string]string{"values.yaml": ownValues})
		cluster := " --cluster " + migratetest.RKE1ID + " --ccm-values values.yaml" + toWorld(t, w.URL, w.Rancher)
		shows(t, transform.ExitDone, "plan --all --out plans"+cluster, "helm gets a copy of values.yaml")
		for pattern, flag := range map[string]bool{"plans/*/*/aws-ccm-values.yaml": true, "plans/*/*/aws-ccm-values-final.yaml": false} {
			files, err := filepath.Glob(pattern)
			assert.Mustf(t, err == nil && len(files) == 1, "%v %v", files, err)
			text := textOf(t, files[0])
			assert.Truef(t, strings.HasPrefix(text, "# Of the chart.\nargs:\n  - --v=4\n") && strings.Contains(text, "enable-leader-migration=true") == flag, "%s:\n%s", files[0], text)
		}

		shows(t, transform.ExitDone, "migrate --yes --until install-ccm"+cluster)
		text, err := os.ReadFile(w.Helm)
		assert.Truef(t, err == nil && strings.Contains(string(text), "# Of the chart.\nargs:\n  - --v=4\n") && textOf(t, "values.yaml") == ownValues, "%v %s", err, text)
	})
}

func TestAValuesFileOfALiveClusterIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rke1, rke2 := migratetest.NewRKE1(t), migratetest.NewRKE2(t)
		here(t, map[string]string{"values.yaml": ownValues, "two.yaml": "args: []\n---\nargs: []\n", "chart.yaml": "replicas: 3\n", "empty.yaml": "", "disk.yaml": "nodeSelector: {disk: fast}\n"})
		for _, c := range []struct {
			of         *migratetest.World
			line, want string
		}{
			{rke1, "migrate --yes --cluster c-x7k2p --ccm-values two.yaml", "two.yaml:3: a second document"},
			{rke1, "migrate --yes --cluster c-x7k2p --ccm-values chart.yaml", "chart.yaml:1: no value of the chart"},
			{rke1, "migrate --yes --cluster c-x7k2p --ccm-values empty.yaml", "empty.yaml:1: the values file has no values"},
			{rke1, "migrate --yes --cluster c-x7k2p --ccm-values missing.yaml", "missing.yaml: cannot read it"},
			{rke1, "migrate --yes --cluster c-x7k2p --ccm-values disk.yaml", "disk.yaml:1: nodeSelector.disk: nodeSelector asks for disk"},
			{rke1, "rollback --yes --cluster c-x7k2p --ccm-values chart.yaml", "chart.yaml:1: no value of the chart"},
			{rke1, "plan --cluster c-x7k2p --ccm-values chart.yaml", "chart.yaml:1: no value of the chart"},
			{rke1, "apply --next --cluster c-x7k2p --ccm-values values.yaml", "--ccm-values: this command changes or checks files or objects"},
			{rke1, "migrate --yes -l a=b --ccm-values values.yaml", "--ccm-values is of one cluster"},
			{rke2, "migrate --yes --cluster orchard --ccm-values values.yaml", "only a cluster of RKE takes the values file"},
		} {
			c.of.Forget()
			shows(t, transform.ExitInput, c.line+toWorld(t, c.of.URL, c.of.Rancher), c.want)
			assert.True(t, len(c.of.Writes()) == 0, c.line, c.of.Writes())
		}
	})
}

func TestMigrateAndRollbackKeepTheValuesOfAReleaseOfRKE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := migratetest.NewRKE1(t)
		w.PutRelease(t, `{"args":["--v=2","--cloud-provider=aws","--configure-cloud-routes=false"],"image":{"repository":"mirror.example/hunter2"}}`+"\n")
		here(t, nil)
		cluster := " --cluster " + migratetest.RKE1ID + toWorld(t, w.URL, w.Rancher)
		w.Forget()
		shows(t, transform.ExitRefused, "migrate --yes"+cluster, "(release-values-replaced)", ": image.repository ", "!hunter2")
		assert.True(t, len(w.Writes()) == 0, w.Writes())
		shows(t, transform.ExitDone, "plan --all"+cluster, "helm get values aws-cloud-controller-manager --namespace kube-system")

		// What the message tells to write is the file that the next run takes.
		putFile(t, "values.yaml", w.Values(t))
		shows(t, transform.ExitDone, "migrate --yes --ccm-values values.yaml"+cluster, "!release-values")
		assert.Contains(t, w.Values(t), "mirror.example/hunter2")
		w.Forget()
		shows(t, transform.ExitRefused, "rollback --yes --canonical --to switch-to-external"+cluster, ": image.repository ", "!hunter2")
		assert.True(t, len(w.Writes()) == 0, w.Writes())
	})
}
