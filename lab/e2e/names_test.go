// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// driven is a cluster whose machines a node driver made: their host names are those of the machines.
func driven(t *testing.T) *managed {
	t.Helper()
	return manage(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/rke2.yaml"), hosts...)
	})
}

var hosts = []rancher.Joined{
	{Host: "lab-control-plane-1", With: cluster.InTree},
	{Host: "lab-control-plane-2", With: cluster.InTree},
	{Host: "lab-workers-1", With: cluster.InTree},
}

// names are those of all nodes, and of the ones among them that are host names.
func (c *managed) names() (all, renamed []string) {
	c.Helper()
	all = slices.Sorted(maps.Keys(c.providerIDs()))
	for _, h := range hosts {
		if slices.Contains(all, h.Host) {
			renamed = append(renamed, h.Host)
		}
	}
	return all, renamed
}

// servesOne creates a Service, and waits for its load balancer.
func (c *managed) servesOne(name string) {
	c.Helper()
	assert.NilError(c, c.service(c.Context(), name))
	c.served()
}

// The end state that is taken unasked keeps the names of all nodes, and those of machines that restart later.
func TestNodesOfPoolsKeepTheirNamesUnasked(t *testing.T) {
	t.Parallel()
	c := driven(t)
	c.choice = nil
	before, _ := c.names()
	c.servesOne("web-before")
	c.rke("migrate")
	c.servesOne("web-after")
	c.writers(cluster.KCM, cluster.CCM)
	for _, m := range c.downstream.Machines {
		service := "rke2-agent"
		if m.ControlPlane {
			service = "rke2-server"
		}
		assert.NilError(t, c.downstream.Restart(c.Context(), m.Node, service))
	}
	if after, _ := c.names(); !slices.Equal(before, after) {
		t.Errorf("the nodes were %v and are %v", before, after)
	}
	c.rke("rollback", "--canonical") // the object does not show whether lists were absent or empty
	c.servesOne("web-again")
	c.writers(cluster.KCM, cluster.CCM, cluster.KCM)
	if after, _ := c.names(); !slices.Equal(before, after) {
		t.Errorf("the nodes were %v and are %v after the rollback", before, after)
	}
	c.end("names-aws-override")
}

// The other one is refused until the new names are accepted. Then a machine registers another node in the switch, and the
// run stops there.
func TestExternalRenamesTheNodesOfPools(t *testing.T) {
	t.Parallel()
	c := driven(t)
	before, _ := c.names()
	c.choice = []string{"--end-state", "external"}
	written := c.written()
	if _, printed := c.result(c.start(nil, "migrate"), 1); !strings.Contains(printed, "external renames every node of the machine pools control-plane, workers") || !maps.Equal(written, c.written()) {
		t.Errorf("%v, and before it %v\n%s", c.written(), written, printed)
	}
	c.choice = external
	if _, printed := c.result(c.start(nil, "migrate", "--timeout", "1m"), 3); !strings.Contains(printed, "switch-to-external") {
		t.Error(printed)
	}
	after, renamed := c.names()
	if len(renamed) == 0 || len(after) != len(before)+len(renamed) {
		t.Errorf("the nodes were %v and are %v", before, after)
	}
	c.neverTwo()
	c.end("names-external")
}
