// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestUntilEndsAnUpgradeAtItsStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := past126(t, func(*corev1.Node) {})
		assert.NilError(t, migrate.Forward(t.Context(), w.late(t, "one")))
		r := w.late(t, "two")
		r.Planner.Target, r.Until = transform.Target{Version: "v1.33.3+rke2r1"}, stages.UpgradeKubernetes
		assert.NilError(t, migrate.Forward(t.Context(), r))
		s := w.Spec(t)
		assert.Truef(t, strings.Contains(s, "v1.32.7+rke2r1") && strings.Contains(s, "tag: v1.31.9"), "got %s", s)
	})
}

// Kubernetes does not go back, and no document takes a cluster there.
func TestNoRollbackTakesAnUpgradeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := past126(t, func(*corev1.Node) {})
		assert.NilError(t, migrate.Forward(t.Context(), w.late(t, "one")))
		patches := w.Patches()
		r := w.late(t, "two")
		r.Planner.Target = transform.Target{Version: "v1.32.7+rke2r1"}
		err := migrate.Backward(t.Context(), r)
		assert.Truef(t, err != nil && exitcode.Of(err) == exitcode.Refused && strings.Contains(err.Error(), "cannot be downgraded") && w.Patches() == patches, "%v, %d patches after %d", err, w.Patches(), patches)
	})
}

// The chart of RKE is no part of its file: helm brings it to each minor.
func TestMigrateTakesAClusterOfRKEFromMinorToMinor(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		r := w.run(t, "two", logged(t))
		r.Planner.Target.Version = "v1.28.15-rancher1-1"
		assert.NilError(t, migrate.Forward(t.Context(), r))
		assert.Contains(t, w.Spec(t), `"kubernetesVersion":"v1.28.15-rancher1-1"`)
		assert.Equal(t, w.Released(), "v1.28.11", "helm installed the image")
	})
}

// One minor later the image would be two minors older than kube-apiserver.
func TestAnImageThatIsOlderThanTheClusterStopsAnUpgrade(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		w.Rancher.Edit(w.Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rancherKubernetesEngineConfig"].(map[string]any)["kubernetesVersion"] = "v1.27.16-rancher1-1"
		})
		w.Follow()
		r := w.run(t, "two", logged(t))
		r.Planner.Target.Version = "v1.28.15-rancher1-1"
		err := migrate.Forward(t.Context(), r)
		assert.True(t, err != nil && exitcode.Of(err) == exitcode.Found && strings.Contains(err.Error(), "has the image v1.26.6 on Kubernetes v1.27.16-rancher1-1"), err)
	})
}
