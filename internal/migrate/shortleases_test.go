// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The option is for the run alone: what an earlier one has made shows in the object, and on the cluster.
func TestARollbackReturnsTheTimingsOfShortLeasesUntilTheOtherManagerIsGone(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	synctest.Test(t, func(t *testing.T) {
		for name, w := range map[string]*world{"RKE2": rke2World(t), "RKE1": rke1World(t)} {
			before := w.Spec(t)
			assert.NilError(t, w.does(t, "one", migrate.Forward, shorter))
			s := w.Spec(t)
			assert.Truef(t, !strings.Contains(s, "leader-elect-renew-deadline=4s\""), "%s: kube-controller-manager keeps its timings: %s", name, s)
			assert.NilError(t, w.does(t, "two", migrate.Backward, canonical, downTo(stages.InstallCCM)))
			s = w.Spec(t)
			assert.ContainsAll(t, s, []string{"enable-leader-migration", "leader-elect-renew-deadline", "leader-elect-retry-period"}, name, "does not get the flags back")
			assert.NilError(t, w.does(t, "three", migrate.Backward, canonical))
			after := w.Spec(t)
			assert.Truef(t, !strings.Contains(after, "leader-elect") && !strings.Contains(after, "enable-leader-migration"), "%s: %s\n%s", name, before, after)
		}
	})
}
