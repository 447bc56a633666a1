// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// CheckJoined requires that a chart has what the options require, and a pod on each of the nodes.
func (c Chart) CheckJoined(o Options, nodes []NodeClass) error {
	switch {
	case c.Migrates() != o.LeaderMigration:
		return fmt.Errorf("the chart would not have the expected --%s", LeaderFlag)
	case len(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings())) > 0:
		return fmt.Errorf("the chart would not have the timings of short leases")
	case o.MigrationConfig && !c.ConfigMounted():
		return fmt.Errorf("the chart would not mount the manager's configuration")
	case !c.SchedulingShown():
		return nil
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
	switch {
	case c.Migrates():
		return fmt.Errorf("the chart would still have --%s", LeaderFlag)
	case c.OwnConfig():
		return fmt.Errorf("the chart would still have --%s", leadermigration.ConfigFlag)
	}
	return nil
}
