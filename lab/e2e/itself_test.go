// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/realrancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// itself is a cluster that Rancher itself provisions.
type itself struct {
	runner
	rancher     *realrancher.Server
	provisioned *realrancher.Cluster
}

// The roles of the machines.
var (
	whole  = realrancher.Roles{ControlPlane: true, Etcd: true}
	plane  = realrancher.Roles{ControlPlane: true}
	worker = realrancher.Roles{Worker: true}
)

// provision starts Rancher itself with one cluster of machines, which is in-tree and settled. So many control
// planes without etcd may follow at once.
func provision(t *testing.T, atOnce string, machines ...realrancher.Roles) *itself {
	t.Helper()
	if os.Getenv("LAB_RANCHER") == "" {
		t.Skip("builds and starts Rancher itself, where LAB_RANCHER is set")
	}
	doc := document(t, "rancher/custom.yaml")
	read := assert.Value(rke2.Open(doc, transform.Target{}))(t)
	dir := folder(t)
	server := assert.Value(realrancher.Start(t.Context(), dir, read.Version))(t)
	t.Cleanup(server.Stop)
	explain(t, server.LogTail)
	began := time.Now()
	object, _ := doc.Root().Value().(map[string]any)
	strategy(object)["controlPlaneConcurrency"] = atOnce
	c, err := server.AddCluster(t.Context(), object)
	if err == nil {
		err = c.Connect(t.Context(), read.Version, relaxed, len(machines))
	}
	for n, roles := range machines {
		if err == nil {
			_, err = c.AddMachine(t.Context(), fmt.Sprintf("lab-%d", n+1), roles, nil)
		}
	}
	if err == nil {
		err = c.Applied(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Rancher provisioned the cluster in %.0f s", time.Since(began).Seconds())
	s := &scenario{T: t, cluster: c.Downstream, began: began, machines: len(machines)}
	s.record()
	return &itself{runner: running(s, server, realrancher.Namespace+"/"+c.Name, dir), rancher: server, provisioned: c}
}

// strategy is the cluster's upgradeStrategy.
func strategy(o map[string]any) map[string]any {
	return o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["upgradeStrategy"].(map[string]any)
}

// read returns the state of the cluster, and the generation of its object.
func (c *itself) read() (state, int64) {
	c.Helper()
	o := assert.Value(c.provisioned.Object(c.Context()))(c)
	return c.stateOf(rke2.Format(), o.Object), o.GetGeneration()
}

// least makes the runs to come those of a user of Rancher's who has the documented roles of the given verbs and nothing
// else.
func (c *itself) least(verbs ...string) {
	c.Helper()
	id, token, err := c.rancher.AddUser(c.Context(), leastUser)
	if err != nil {
		c.Fatal(err)
	}
	grants{c.rancher.Local, "RKE2", c.provisioned.Name, c.provisioned.ID, id}.bind(c.scenario, verbs...)
	assert.NilError(c, c.provisioned.LetsIn(c.Context(), token))
	c.token = token
}

// An RKE2 cluster of Rancher itself goes all the way and comes back, while Services are made.
func TestMigrateAndRollbackOnRancherItself(t *testing.T) {
	c := provision(t, "1", whole, whole, worker)
	inTree, _ := c.read()
	stop := c.busy()
	c.least("migrate", "rollback")
	c.rke("migrate", "--etcd-snapshot", "--canary-service")
	c.served()
	c.writers(cluster.KCM, cluster.CCM)
	external, generation := c.read()
	if len(external.Workload) != 1 || cmp.Equal(inTree, external) {
		c.Errorf("the cluster is not migrated: %+v", external)
	}
	// Two machines have etcd, and two stages require a snapshot.
	c.eventually("the snapshots of etcd in Rancher", func(ctx context.Context) bool {
		names, err := c.provisioned.Snapshots(ctx)
		return err == nil && len(names) == 4
	})

	c.prints(c.rke("migrate"), "nothing to do")
	again, unchanged := c.read()
	if diff := cmp.Diff(external, again); diff != "" || generation != unchanged {
		c.Errorf("a second run wrote: generations %d and %d (-before +after):\n%s", generation, unchanged, diff)
	}

	c.rke("rollback")
	stop()
	c.served()
	c.writers(cluster.KCM, cluster.CCM, cluster.KCM)
	back, _ := c.read()
	assert.DeepEqual(c, back, inTree, "the cluster has not come back (-want +got)")
	c.end("rancher-itself")
}

// A plan that fails twice, two control planes at once, and an edit in the UI: a migration on Rancher itself comes to the same
// end.
func TestWhatHappensToAMigrationOnRancherItself(t *testing.T) {
	c := provision(t, "2", whole, plane, plane, worker)
	stop := c.busy()
	c.failsTwice()
	c.atOnce()
	c.edited()
	c.prints(c.rke("migrate"), "nothing to do")
	stop()
	c.served()
	c.writers(cluster.KCM, cluster.CCM)
	c.neverTwo()
	c.end("rancher-itself-disturbed")
}

// failsTwice lets a machine fail its plan twice. The run waits, and says so.
func (c *itself) failsTwice() {
	c.Helper()
	m := c.provisioned.Machines[0]
	m.Fail(2)
	c.prints(c.rke("migrate", "--until", stages.EnableLeaderMigration),
		"machine "+m.Name+": 1 attempt of its plan failed", "machine "+m.Name+": 2 attempts of its plan failed", "install: no space left on device")
}

// atOnce shows that Rancher lets the control planes without etcd follow at once: one gets its plan while the other
// read at none.
func (c *itself) atOnce() {
	c.Helper()
	stalled, other := c.provisioned.Machines[1], c.provisioned.Machines[2]
	followed := make(chan error, 1)
	c.during(announced(stages.SwitchToExternal), func() {
		stalled.Stall(true)
		go func() {
			defer stalled.Stall(false)
			followed <- c.external(other)
		}()
	}, []int{0}, "--until", stages.SwitchToExternal)
	if err := <-followed; err != nil {
		c.Error(err)
	}
}

// external waits until a machine runs with the external provider.
func (c *itself) external(m *realrancher.Machine) error {
	deadline := time.Now().Add(c.timeout)
	for time.Now().Before(deadline) {
		if config, err := m.Config(); err == nil && config["cloud-provider-name"] == "external" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("machine " + m.Name + " does not follow while another one looks at no plan")
}

// edited writes the whole object in the middle of the last stage that changes it.
func (c *itself) edited() {
	c.Helper()
	c.during(written(stages.DisableLeaderMigration), func() {
		err := c.provisioned.Edit(context.WithoutCancel(c.Context()), func(o map[string]any) {
			strategy(o)["workerConcurrency"] = "10%"
		})
		if err != nil {
			c.Error(err)
		}
	}, []int{0})
	o := assert.Value(c.provisioned.Object(c.Context()))(c)
	assert.Equal(c, strategy(o.Object)["workerConcurrency"], "10%", "the edit was lost: workerConcurrency is")
}
