// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
)

// twoOwners takes leases that were looked at once for live: the arguments are
// evidence enough.
func (j *evaluation) twoOwners() []transform.Finding {
	leases := ownership.Assumed(j.leases)
	s := ownership.Evaluate(j.processes, leases)
	twins := j.twins()
	switch {
	case s.Unknown != "" && len(twins) > 0:
		return twins
	case s.Unknown != "" && len(j.cloud())+len(j.cloudPods()) > 0:
		f := found(leasePath(j.lease().Name), "whether both managers run the cloud controllers is unknown: "+s.Unknown, "check the arguments of the manager, on its machine or in the cluster's YAML")
		f.Severity = transform.Note
		return []transform.Finding{f}
	case s.Unknown != "" || s.Count < 2:
		return twins
	}
	names := lists.Map(s.Doubled, func(c ownership.Controller) string { return string(c) })
	causes := ownership.Causes(j.processes, leases, s.Doubled)
	return append(twins, found(leasePath(j.lease().Name),
		fmt.Sprintf("%s run %s at once: %s", strings.Join(names, ", "), where(s), strings.Join(reasons(causes, s), "; ")),
		apart(causes)))
}

// apart reports what to do about managers that own the same controllers.
func apart(causes []ownership.Process) string {
	const stop = "stop one of the two now: scale down the cloud-controller-manager, or "
	if len(locks(causes)) > 1 {
		return stop + "set the same leaderName in both configurations"
	}
	return stop + "set the flag for both, and configurations that list these controllers by their names in each manager"
}

// locks are the migration leases that processes with the flag name.
func locks(processes []ownership.Process) []string {
	var names []string
	for _, p := range processes {
		if p.Flag && !slices.Contains(names, p.Migration) {
			names = append(names, p.Migration)
		}
	}
	return names
}

// where reports where controllers run that have two owners: pods of one manager that
// do not elect one leader are two owners as well.
func where(s ownership.State) string {
	if len(s.Owners) == 1 {
		return "twice in pods of " + s.Owners[0]
	}
	return "in both managers"
}

// reasons reports how each owner comes to run a controller.
func reasons(causes []ownership.Process, s ownership.State) []string {
	list := lists.Map(causes, func(p ownership.Process) string { return named(p) + " " + reason(p, s) })
	slices.Sort(list)
	return slices.Compact(list)
}

// named is a manager, with its namespace where that is not the usual one.
func named(p ownership.Process) string {
	if p.Space() != leadermigration.Namespace {
		return p.Component + " in " + p.Space()
	}
	return p.Component
}

func reason(p ownership.Process, s ownership.State) string {
	switch {
	case !p.Elects:
		return "has leader-elect=false"
	case len(s.Owners) == 1:
		return "elects its leader with the lease " + p.Main
	case !p.Flag:
		return "has no enable-leader-migration"
	case slices.ContainsFunc(s.Doubled, func(c ownership.Controller) bool { return p.Modes[c] == ownership.UnderMain }):
		return "does not have them in its leader migration configuration"
	}
	return "holds the lease " + p.Migration
}
