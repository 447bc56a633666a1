// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// LeaderElectionOff checks how a manager asks for its leases: a migration can be
// followed only where each manager has its main lease under its own name, and timings
// that distinguish a living leader from a dead one.
var LeaderElectionOff = ofComponents(
	transform.Rule{
		ID: "leader-election-off", Severity: transform.Error, Guards: BothManagers,
		Doc: "A manager has leader-elect=false, which silently turns leader migration off, or a lease whose name or timings hide which manager runs the cloud controllers.",
	}.Because("Without leader election every manager runs all controllers. With another lease or other timings, which one runs them cannot be seen.", transform.SourceMigration, "Remove leader-elect=false, and the changed names and timings of leases.", "If you changed timings on purpose and read the leases yourself."),
	func(c Component, at transform.Report) {
		if c.Target.NoLeaderMigration {
			return // nothing depends on it
		}
		for _, a := range c.Args {
			if message := faultOf(a, c.Name); message != "" {
				at(a.Node(), message, "remove the argument")
			}
		}
		timings, node := timingsOf(c.Args)
		if message := faultOfTimings(timings); message != "" {
			at(node, message, defaultTimings)
		}
	},
)

// The arguments of leader election, apart from its timings.
const (
	electFlag = "leader-elect"
	lockFlag  = "leader-elect-resource-lock"
	nameFlag  = "leader-elect-resource-name"
	spaceFlag = "leader-elect-resource-namespace"
)

// faultOf checks one argument by itself; "" if it is none.
func faultOf(a args.Arg, manager string) string {
	switch {
	case a.Name == electFlag && !a.True():
		return "without leader election there is no leader migration, whatever the value of its flag: both managers run the cloud controllers"
	case a.Name == nameFlag && a.Value != manager, a.Name == spaceFlag && a.Value != leadermigration.Namespace:
		return "the main lease of " + manager + " is not " + leadermigration.Namespace + "/" + manager + ", so the holder of the migration lease is unknown"
	case a.Name == lockFlag && (a.Value == "endpoints" || a.Value == "configmaps"):
		return "the main lock of " + manager + " is no lease, so the holder of the migration lease is unknown"
	}
	return ""
}
