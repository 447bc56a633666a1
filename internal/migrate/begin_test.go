// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestThereIsNoRollbackFrom127(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.migrate(t, "one")
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.27.16+rke2r1" })
		w.Follow()
		w.Forget()
		err := migrate.Backward(t.Context(), w.run(t, "two", logged(t)))
		if !strings.Contains(fmt.Sprint(err), "Kubernetes 1.27 and later have no in-tree provider to roll back to") || exitcode.Of(err) != exitcode.Refused || len(w.Writes()) > 0 {
			t.Errorf("%v %d %v", err, exitcode.Of(err), w.Writes())
		}
	})
}

func TestAMigrationDoesNotBeginWithoutTheRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.Rancher.Denied["patch nodes"] = true
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "patch nodes") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
	})
}

func TestAMigrationDoesNotBeginOnAClusterThatIsChanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.Stick(true)
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "aws"
			o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1"
		})
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Refused || !strings.Contains(fmt.Sprint(err), "cluster-not-settled") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
	})
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		w.API.Do(func() { w.API.Nodes[2].Spec.ProviderID = "" })
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "provider ID") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
		r := w.run(t, "two", logged(t))
		r.Accept = []string{"provider-id-missing"}
		r.Until = stages.GrantMigrationLease
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Planner.Target.Accept = nil
		err := migrate.Forward(t.Context(), r)
		if exitcode.Of(err) != exitcode.Found || !strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") || len(w.Writes()) > 0 {
			t.Errorf("%v %v", err, w.Writes())
		}
		r = w.run(t, "two", logged(t))
		r.Planner.Target.Accept = nil
		r.Until = stages.InstallCCM
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Errorf("stages before it: %v", err)
		}
	})
}

func TestWhoDeclinesAStageIsShownWhereTheClusterIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rke2World(t)
		r := w.run(t, "one", logged(t))
		r.Confirm = func(_ context.Context, stage string) (bool, error) { return stage != stages.SwitchToExternal, nil }
		err := migrate.Forward(t.Context(), r)
		if exitcode.Of(err) != exitcode.Failed || !strings.Contains(fmt.Sprint(err), "not confirmed") || !strings.Contains(fmt.Sprint(err), "the one that holds the migration lease, and the other one waits") {
			t.Errorf("%v", err)
		}
		if left := w.Cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
	})
}
