// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestUntilEndsAnUpgradeAtItsStage(t *testing.T) {
	on(t, late126, func(t *testing.T, w *world) {
		assert.NilError(t, w.late(t, "one"))
		assert.NilError(t, w.late(t, "two", targeting(transform.Target{Version: "v1.33.3+rke2r1"}), until(stages.UpgradeKubernetes)))
		s := w.Spec(t)
		assert.Truef(t, strings.Contains(s, "v1.32.7+rke2r1") && strings.Contains(s, "tag: v1.31.9"), "got %s", s)
	})
}

// The chart of RKE is no part of its file: helm brings it to each minor.
func TestMigrateTakesAClusterOfRKEFromMinorToMinor(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		assert.NilError(t, w.does(t, "two", migrate.Forward, func(_ *world, o *migrate.Options) { o.Planner.Target.Version = "v1.28.15-rancher1-1" }))
		assert.Contains(t, w.Spec(t), `"kubernetesVersion":"v1.28.15-rancher1-1"`)
		assert.Equal(t, w.Released(), "v1.28.11", "helm installed the image")
	})
}
