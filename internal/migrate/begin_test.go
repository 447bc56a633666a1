// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestThereIsNoRollbackFrom127(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.27.16+rke2r1" })
		w.Follow()
		w.Forget()
		err := migrate.Backward(t.Context(), w.run(t, "two", logged(t)))
		assert.Truef(t, strings.Contains(fmt.Sprint(err), "Kubernetes 1.27 and later have no in-tree provider to roll back to") && exitcode.Of(err) == exitcode.Refused && len(w.Writes()) == 0, "%v %d %v", err, exitcode.Of(err), w.Writes())
	})
}

// Nothing that RKE2 derives from the name of a Node proves that its machine has that name.
func TestARunKnowsOnlyTheHostNamesThatNodesShow(t *testing.T) {
	named := func(w *world, args func(node string) string) {
		w.API.Do(func() {
			for i := range w.API.Nodes {
				n := &w.API.Nodes[i]
				n.Labels["kubernetes.io/hostname"] = n.Name // that of the host is orchard-servers-0
				n.Status.NodeInfo.KubeletVersion = "v1.26.15+rke2r1"
				n.Annotations = map[string]string{"rke2.io/node-args": args(n.Name)}
			}
		})
	}
	for _, c := range []struct {
		name, args string // NODE is the name of the Node
		chosen     string
		want       string // in the error; "" for none
	}{
		{"the label", `["server"]`, "", "the host names are not known"},
		{"node-names", `["server","--node-name","NODE"]`, "", ""},
		{"other node-names", `["server","--node-name=x-NODE"]`, transform.EndStateExternal, "external renames " + apitest.NodeName(0) + " to x-" + apitest.NodeName(0)},
	} {
		onRKE2(t, func(t *testing.T, w *world) {
			w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
				delete(o["spec"].(map[string]any)["rkeConfig"].(map[string]any), "machinePools")
			})
			w.Follow()
			named(w, func(node string) string { return strings.ReplaceAll(c.args, "NODE", node) })
			w.Forget()
			r := w.run(t, "one", logged(t))
			r.Planner.Target = transform.Target{EndState: c.chosen}
			err := migrate.Forward(t.Context(), r)
			assert.Truef(t, (c.want != "" || err == nil) && strings.Contains(fmt.Sprint(err), c.want) && (c.want == "" || len(w.Writes()) == 0), "%s: %v %v", c.name, err, w.Writes())
			s := w.Spec(t)
			assert.Truef(t, c.want != "" || strings.Contains(s, `"cloud-provider-name":"external"`), "%s: %s", c.name, s)
		})
	}
}

func TestAMigrationDoesNotBeginWithoutTheRights(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Rancher.Denied["patch nodes"] = true
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		assert.Truef(t, exitcode.Of(err) == exitcode.Refused && strings.Contains(fmt.Sprint(err), "patch nodes") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
	})
}

func TestAMigrationDoesNotBeginOnAClusterThatIsChanging(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.Stick(true)
		w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
			o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)["cloud-provider-name"] = "aws"
			o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1"
		})
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		assert.Truef(t, exitcode.Of(err) == exitcode.Refused && strings.Contains(fmt.Sprint(err), "cluster-not-settled") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
	})
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.API.Do(func() { w.API.Nodes[2].Spec.ProviderID = "" })
		err := migrate.Forward(t.Context(), w.run(t, "one", logged(t)))
		assert.Truef(t, exitcode.Of(err) == exitcode.Found && strings.Contains(fmt.Sprint(err), "provider ID") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
		r := w.run(t, "two", logged(t))
		r.Accept = []string{"provider-id-missing"}
		r.Until = stages.GrantMigrationLease
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		r := w.run(t, "one", logged(t))
		r.Planner.Target.Accept = nil
		err := migrate.Forward(t.Context(), r)
		assert.Truef(t, exitcode.Of(err) == exitcode.Found && strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
		r = w.run(t, "two", logged(t))
		r.Planner.Target.Accept = nil
		r.Until = stages.InstallCCM
		if err := migrate.Forward(t.Context(), r); err != nil {
			t.Errorf("stages before it: %v", err)
		}
		w.Forget()
		r = w.run(t, "three", logged(t)) // as a run of an earlier release is continued
		r.Planner.Target.Accept = nil
		if err := migrate.Forward(t.Context(), r); !strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") || len(w.Writes()) > 0 {
			t.Errorf("the run that continues: %v %v", err, w.Writes())
		}
	})
}
