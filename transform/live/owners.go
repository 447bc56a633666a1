// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/ownership"
)

// twoOwners takes leases that were looked at once for live: the arguments are
// evidence enough.
func (j *judge) twoOwners() []transform.Finding {
	s := ownership.Judge(j.processes, ownership.Assumed(j.leases))
	switch {
	case s.Unknown != "" && len(j.cloud()) > 0:
		f := found(leasePath(j.lease().Name), "whether both managers run the cloud controllers cannot be told: "+s.Unknown, "look at the arguments of the manager yourself, on its machine or in the cluster's YAML")
		f.Severity = transform.Note
		return []transform.Finding{f}
	case s.Unknown != "" || s.Count < 2:
		return nil
	}
	var names []string
	for _, c := range s.Doubled {
		names = append(names, string(c))
	}
	return []transform.Finding{found(leasePath(j.lease().Name),
		fmt.Sprintf("%s run %s at once: %s", strings.Join(names, ", "), where(s), strings.Join(j.reasons(s), "; ")),
		"stop one of the two now: scale the cloud-controller-manager down, or give both the flag and configurations that list what they call these controllers")}
}

// where says where controllers run that have two owners: pods of one manager that
// do not elect one leader are two owners as well.
func where(s ownership.State) string {
	if len(s.Owners) == 1 {
		return "twice in pods of " + s.Owners[0]
	}
	return "in both managers"
}

// reasons says how each manager comes to run a controller.
func (j *judge) reasons(s ownership.State) []string {
	var list []string
	for _, component := range s.Owners {
		for _, p := range j.of(component) {
			list = append(list, named(p)+" "+reason(p, s))
		}
	}
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
		return "elects its leader by the lease " + p.Main
	case !p.Flag:
		return "has no enable-leader-migration"
	case slices.ContainsFunc(s.Doubled, func(c ownership.Controller) bool { return p.Modes[c] == ownership.UnderMain }):
		return "does not find them in its leader migration configuration"
	}
	return "holds the migration lease"
}
