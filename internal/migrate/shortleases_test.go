// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The option is for the run alone: what an earlier one has made shows in the object, and on the cluster.
func TestARollbackReturnsTheTimingsOfShortLeasesUntilTheOtherManagerIsGone(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	synctest.Test(t, func(t *testing.T) {
		for name, w := range map[string]*world{"RKE2": rke2World(t), "RKE1": rke1World(t)} {
			before := w.Spec(t)
			r := w.run(t, "one", logged(t))
			r.Planner.Target.ShortLeases = true
			assert.NilError(t, migrate.Forward(t.Context(), r))
			if s := w.Spec(t); strings.Contains(s, "leader-elect-renew-deadline=4s\"") {
				t.Errorf("%s: kube-controller-manager keeps its timings: %s", name, s)
			}
			r = w.run(t, "two", logged(t))
			r.Planner.Target.CanonicalForm, r.Planner.To = true, stages.InstallCCM
			assert.NilError(t, migrate.Backward(t.Context(), r))
			s := w.Spec(t)
			for _, flag := range []string{"enable-leader-migration", "leader-elect-renew-deadline", "leader-elect-retry-period"} {
				if !strings.Contains(s, flag) {
					t.Errorf("%s: kube-controller-manager does not get %s back: %s", name, flag, s)
				}
			}
			r = w.run(t, "three", logged(t))
			r.Planner.Target.CanonicalForm = true
			assert.NilError(t, migrate.Backward(t.Context(), r))
			if after := w.Spec(t); strings.Contains(after, "leader-elect") || strings.Contains(after, "enable-leader-migration") {
				t.Errorf("%s: %s\n%s", name, before, after)
			}
		}
	})
}

func TestShortLeasesAreRefusedOnceAManagerTakesPartWithoutThem(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	synctest.Test(t, func(t *testing.T) {
		for name, w := range map[string]*world{"RKE2": rke2World(t), "RKE1": rke1World(t)} {
			r := w.run(t, "one", logged(t))
			r.Until = stages.InstallCCM
			assert.NilError(t, migrate.Forward(t.Context(), r))
			w.Forget()
			r = w.run(t, "two", logged(t))
			r.Planner.Target.ShortLeases = true
			err := migrate.Forward(t.Context(), r)
			if err == nil || exitcode.Of(err) != exitcode.Refused || !strings.Contains(err.Error(), "has the default timings of leases") || len(w.Writes()) > 0 {
				t.Errorf("%s: %v %v", name, err, w.Writes())
			}
		}
	})
}
