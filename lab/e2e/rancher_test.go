// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/ccm"
)

// ends are the states of a cluster before and after an undisturbed migration.
type ends struct{ inTree, external state }

// rke2Cluster is the cluster of testdata, as a Rancher makes it.
func rke2Cluster(t *testing.T) *managed {
	t.Helper()
	return manage(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/rke2.yaml"))
	})
}

// rke1Cluster is the other one, with two control planes and a worker.
func rke1Cluster(t *testing.T) *managed {
	t.Helper()
	return manage(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE1(t.Context(), document(t, "rancher/rke1.yaml"), 2, 1)
	})
}

var (
	once     sync.Once
	expected *ends
)

// undisturbed runs the scenario that nothing disturbs, once for all tests that ask.
func undisturbed(t *testing.T) ends {
	t.Helper()
	once.Do(func() {
		c := rke2Cluster(t)
		e := c.roundTrip()
		c.is(e.inTree)
		c.end("migrate-rke2")
		if !t.Failed() {
			expected = &e
		}
	})
	if expected == nil {
		t.Fatal("the undisturbed run failed")
	}
	return *expected
}

// An RKE2 cluster of a Rancher goes all the way and comes back, while Services are made.
func TestMigrateAndRollbackOfAnRKE2ClusterOfARancher(t *testing.T) {
	t.Parallel()
	undisturbed(t)
}

// The same for an RKE cluster, whose chart helm installs.
func TestMigrateAndRollbackOfAnRKE1ClusterOfARancher(t *testing.T) {
	t.Parallel()
	c := rke1Cluster(t)
	inTree := c.state()
	c.helmless()
	c.valued()
	// The object does not show that the settings of the provider were in a block before; the text that they
	// are in now has the same settings.
	c.roundTrip("--canonical")
	now := c.state()
	now.Spec, now.Objects = inTree.Spec, inTree.Objects
	assert.DeepEqual(t, now, inTree, "the managers have not come back (-want +got)")
	c.keptGroups()
	c.end("migrate-rke1")
}

// helmless lets a run come to the chart where there is no helm. It says what to run by hand.
func (c *managed) helmless() {
	c.Helper()
	c.path = "/nonexistent"
	if _, printed := c.result(c.start(nil, "migrate"), 3); !strings.Contains(printed, "helm upgrade --install") {
		c.Error(printed)
	}
	c.path = ""
}

// valued lets a run come to a release that an operator has installed with the real helm: what helm
// prints of its values is compared, and nothing is written. No node has the label that its pods ask
// for. The newest revision is an upgrade that the API server has refused.
func (c *managed) valued() {
	c.Helper()
	kubeconfig := assert.Value(c.cluster.Kubeconfig(cluster.Admin))(c)
	helm := func(words ...string) error {
		return c.front.Helm().Run(c.Context(), append(words, "--namespace", "kube-system", "--kubeconfig", kubeconfig)...)
	}
	install := func(more ...string) error {
		return helm(append([]string{"upgrade", "--install", ccm.ChartName, ccm.ChartName, "--repo", c.front.Charts(), "--version", ccm.DefaultVersion,
			"--set", "podAnnotations.team=hunter2", "--set", "nodeSelector.lab=nowhere"}, more...)...)
	}
	assert.NilError(c, install())
	if err := install("--set", "podAnnotations.no/key/of=anything"); err == nil {
		c.Error("the upgrade did not fail")
	}
	before := c.written()
	_, printed := c.result(c.start(nil, "migrate"), 4)
	for _, want := range []string{"release-values-replaced", "nodeSelector.lab", "podAnnotations.no/key/of", "podAnnotations.team"} {
		if !strings.Contains(printed, want) {
			c.Errorf("%s is not in\n%s", want, printed)
		}
	}
	if strings.Contains(printed, "hunter2") || strings.Contains(printed, "nowhere") {
		c.Errorf("a value is shown:\n%s", printed)
	}
	assert.DeepEqual(c, c.written(), before, "a refused run wrote (-before +after)")
	assert.NilError(c, helm("uninstall", ccm.ChartName, "--wait"))
}

// roundTrip migrates, migrates again, which has to change nothing, and rolls back with more flags.
func (c *managed) roundTrip(more ...string) ends {
	c.Helper()
	var e ends
	e.inTree = c.state()
	stop := c.busy()
	c.least("migrate", "rollback")
	first := "Rancher updates the machines in this order: " + c.downstream.Machines[0].Name + " ("
	if printed := c.rke("migrate", "--etcd-snapshot", "--canary-service"); c.engine() == strings.Contains(printed, first) {
		c.Errorf("the order of the machines is not said as Rancher has it:\n%s", printed)
	}
	c.served()
	c.writers(cluster.KCM, cluster.CCM)
	e.external = c.state()
	if len(e.external.Workload) != 1 || cmp.Equal(e.inTree, e.external) {
		c.Errorf("the cluster is not migrated: %+v", e.external)
	}
	if c.downstream.Snapshots() == 0 {
		c.Error("no snapshot of etcd was taken")
	}
	if configs, err := c.rancher.Restorable(c.Context(), c.downstream); err != nil || c.engine() && len(configs) == 0 {
		c.Errorf("the configuration cannot be restored: %d snapshots, %v", len(configs), err)
	}

	before := c.written()
	c.rke("migrate")
	assert.DeepEqual(c, c.written(), before, "a second run wrote (-before +after)")
	c.is(e.external)

	c.rke("rollback", more...)
	stop()
	c.served()
	c.writers(cluster.KCM, cluster.CCM, cluster.KCM)
	c.audited()
	c.usedAll()
	return e
}

// is requires that the cluster is exactly in that state.
func (c *managed) is(want state) {
	c.Helper()
	assert.DeepEqual(c, c.state(), want, "the cluster differs (-want +got)")
}
