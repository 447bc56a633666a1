// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// WithTimings is the choice for a plan with what the cloud-controller-managers of a cluster show: the shortest lease duration, and that
// they run with short leases. It fails with *transform.Conflict where these were chosen and a manager in the migration runs
// without.
func WithTimings(p *plan.Plan, t transform.Target, seen *observed.Observation) (transform.Target, error) {
	managers := lists.Where(seen.Managers, func(m observed.Manager) bool { return m.Component == observed.CloudManager })
	running := lists.Map(managers, func(m observed.Manager) []string { return m.Args })
	templates := lists.Map(seen.DaemonSets, func(d observed.DaemonSet) []string { return d.Args })
	for _, list := range append(running, templates...) {
		arguments := args.Command(list)
		timings, _ := leadermigration.TimingsOf(arguments)
		if t.CloudLease == 0 || timings.LeaseDuration < t.CloudLease {
			t.CloudLease = timings.LeaseDuration
		}
		switch {
		case t.ShortLeases && flagged(arguments) && leadermigration.LacksTimings(arguments):
			return t, &transform.Conflict{At: &yamledit.Error{File: "the cluster", What: stages.TimingsStay, Do: stages.WithoutShortLeases}}
		case leadermigration.HasTimings(arguments, leadermigration.CloudTimings()):
			t.ShortLeases = p.Target.Upgrades() || !p.Target.NoLeaderMigration // there is none past 1.26
		}
	}
	return t, nil
}
