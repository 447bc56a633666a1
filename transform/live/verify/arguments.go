// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// ccmArgsUnsafe finds, while the cloud-controller-manager still waits and looks
// healthy, what ends it when it acquires the lease.
func (j *evaluation) ccmArgsUnsafe() []transform.Finding {
	said := func(path string) transform.Finding {
		return found(path, rules.RoutesUnsafe, rules.RoutesFix)
	}
	var list []transform.Finding
	for _, d := range j.DaemonSets {
		if routesUnsafe(ownership.Read(template(d))) {
			list = append(list, said(d.Namespace+"/daemonsets/"+d.Name))
		}
	}
	if len(list) > 0 {
		return list // its pods have them from there
	}
	for _, p := range j.cloudPods() {
		if !p.Hidden && routesUnsafe(p) {
			list = append(list, said(p.Path()))
		}
	}
	return list
}

// routesUnsafe reports whether a process starts the route controller without a range
// of addresses.
func routesUnsafe(p ownership.Process) bool {
	_, on := p.Modes[ownership.Route]
	return on && ccm.RoutesUnsafe(func(name string) (args.Arg, bool) { return args.Last(p.Parsed(), name) })
}
