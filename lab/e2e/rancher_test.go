// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// An RKE2 cluster of a Rancher goes all the way and comes back, while Services are made.
func TestMigrateAndRollbackOfAnRKE2Cluster(t *testing.T) {
	c := conduct(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/rke2.yaml"))
	})
	c.thereAndBack()
	c.end("migrate-rke2")
}

func (c *conducted) thereAndBack() {
	c.Helper()
	if err := c.service(c.Context(), "first"); err != nil {
		c.Fatal(err)
	}
	c.served()
	stop := c.traffic(700 * time.Millisecond)
	c.Log(c.rke("migrate"))
	c.served()
	c.pen(cluster.KCM, cluster.CCM)
	c.Log(c.rke("migrate"))
	c.Log(c.rke("rollback"))
	stop()
	c.served()
	c.pen(cluster.KCM, cluster.CCM, cluster.KCM)
}
