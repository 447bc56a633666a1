// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// CheckJoined requires that a chart has what the options require, and a pod on each of the nodes.
func (c Chart) CheckJoined(o Options, nodes []NodeClass) error {
	err := cmp.Or(
		transform.Require(c.Migrates() == o.LeaderMigration, "the chart would not have the expected --%s", LeaderFlag),
		transform.Require(len(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings())) == 0, "the chart would not have the timings of short leases"),
		transform.Require(!o.MigrationConfig || c.ConfigMounted(), "the chart would not mount the manager's configuration"))
	if err != nil || !c.SchedulingShown() {
		return err
	}
	for _, class := range nodes {
		if why := c.Refuses(class); why != "" {
			return fmt.Errorf("the chart would not run on nodes of class %s: %s", class.Name, why)
		}
	}
	return nil
}

// CheckLeft requires that nothing of the migration is left on a chart.
func (c Chart) CheckLeft() error {
	return cmp.Or(transform.Require(!c.Migrates(), "the chart would still have --%s", LeaderFlag),
		transform.Require(!c.OwnConfig(), "the chart would still have --%s", leadermigration.ConfigFlag))
}
