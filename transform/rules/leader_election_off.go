// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"time"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// LeaderElectionOff checks how a manager asks for its leases: a migration can be
// followed only where each manager has its main lease under its own name, and timings
// that distinguish a living leader from a dead one.
var LeaderElectionOff = OfComponents{
	transform.Rule{
		ID: "leader-election-off", Severity: transform.Error, Guards: BothManagers, Acceptable: true,
		Doc: "A manager has leader-elect=false, which silently turns leader migration off, or a lease whose name or timings hide which manager runs the cloud controllers.",
	}.Because("Without leader election every manager runs all controllers. With another lease or other timings, which one runs them cannot be seen.", transform.SourceMigration, "Remove leader-elect=false, and the changed names and timings of leases.", "If you changed timings on purpose and read the leases yourself."),
	func(c Component, at transform.Report) {
		if c.Target.NoLeaderMigration {
			return // nothing depends on it
		}
		for _, a := range c.Args {
			if message, fix := faultOf(a.Arg, c.Name); message != "" {
				at(a.Node, message, fix)
			}
		}
		if message, node := timingFault(c.Args); message != "" {
			at(node, message, "remove the timings of the lease; the defaults are 15s, 10s and 2s")
		}
	},
}

// The arguments of leader election, and the timings of client-go's elector.
const (
	electFlag   = "leader-elect"
	lockFlag    = "leader-elect-resource-lock"
	nameFlag    = "leader-elect-resource-name"
	spaceFlag   = "leader-elect-resource-namespace"
	leaseFlag   = "leader-elect-lease-duration"
	renewFlag   = "leader-elect-renew-deadline"
	retryFlag   = "leader-elect-retry-period"
	shortest    = 5 * time.Second // below, one missed look takes a living leader for a dead one
	longest     = time.Minute     // above, a dead leader counts as a living one for too long
	retryJitter = 1.2
)

// faultOf checks one argument by itself.
func faultOf(a args.Arg, manager string) (message, fix string) {
	switch {
	case a.Name == electFlag && !a.True():
		return "without leader election there is no leader migration, whatever the value of its flag: both managers run the cloud controllers", "remove the argument"
	case a.Name == nameFlag && a.Value != manager, a.Name == spaceFlag && a.Value != leadermigration.Namespace:
		return "the main lease of " + manager + " is not " + leadermigration.Namespace + "/" + manager + ", so the holder of the migration lease is unknown", "remove the argument"
	case a.Name == lockFlag && (a.Value == "endpoints" || a.Value == "configmaps"):
		return "the main lock of " + manager + " is no lease, so the holder of the migration lease is unknown", "remove the argument"
	}
	return "", ""
}

// timingFault checks the timings together, as client-go's elector does, and
// names the last argument that sets one of them.
func timingFault(list []args.Placed) (string, yamledit.Node) {
	set := map[string]time.Duration{leaseFlag: 15 * time.Second, renewFlag: 10 * time.Second, retryFlag: 2 * time.Second}
	var last yamledit.Node
	for _, a := range list {
		if _, timing := set[a.Name]; !timing {
			continue
		}
		if d, err := time.ParseDuration(a.Value); err == nil {
			set[a.Name], last = d, a.Node
		}
	}
	lease, renew, retry := set[leaseFlag], set[renewFlag], set[retryFlag]
	switch {
	case lease <= renew:
		return "the lease duration is not longer than the renew deadline, and the manager does not start", last
	case float64(renew) <= retryJitter*float64(retry):
		return "the renew deadline is not longer than 1.2 times the retry period, and the manager does not start", last
	case lease < shortest || lease > longest:
		return "with this lease duration a live leader looks dead, or a dead one looks alive for more than a minute", last
	}
	return "", last
}
