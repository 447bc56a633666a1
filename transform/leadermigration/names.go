// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// controller is one that may be migrated, by its names. A manager matches the
// names under which it registers its controllers, and these changed in 1.28; the
// default configuration of later managers names two that none of them registers
// (k8s.io/controller-manager, k8s.io/cloud-provider/names).
type controller struct{ old, new string }

var (
	cloudControllers = []controller{
		{"route", "node-route-controller"},
		{"service", "service-lb-controller"},
		{"cloud-node-lifecycle", "cloud-node-lifecycle-controller"},
	}
	nodeIPAM  = controller{"nodeipam", "node-ipam-controller"}
	cloudNode = controller{"cloud-node", "cloud-node-controller"}
	// listed are those that a configuration may list.
	listed = append(slices.Clone(cloudControllers), nodeIPAM)
)

// name returns what a manager of a version calls the controller.
func (c controller) name(version string) string {
	if Renamed(version) {
		return c.new
	}
	return c.old
}

// is reports whether a manager of a version knows the controller by a name; ""
// means any version.
func (c controller) is(name, version string) bool {
	return name == c.name(version) || version == "" && name == c.new
}

// either reports whether the name is one that some version uses.
func (c controller) either(name string) bool { return name == c.old || name == c.new }

// known returns the controller with an older name.
func known(old string) controller {
	c, found := lists.Find(append(slices.Clone(listed), cloudNode), func(c controller) bool { return c.old == old })
	if !found {
		return controller{old, old}
	}
	return c
}

// Registers reports whether a manager of a version, "" for any, calls a controller that is known by its
// older name so.
func Registers(version, old, name string) bool { return known(old).is(name, version) }

// ControllersFlag is the argument of a manager that says which controllers it starts.
const ControllersFlag = "controllers"

// Starts reports whether a manager with this value of --controllers starts a controller that is known by
// its older name; managers accept both names (k8s.io/controller-manager/app, IsControllerEnabled).
func Starts(controllers, old string) bool {
	all := false
	for name := range strings.SplitSeq(controllers, ",") {
		name = strings.TrimSpace(name)
		switch on := strings.TrimPrefix(name, "-"); {
		case name == "*":
			all = true
		case on == old || on == known(old).new:
			return on == name
		}
	}
	return all
}

// Renamed reports whether managers of a version have the newer names.
func Renamed(version string) bool { return k8s.From(version, "v1.28") }

// SameNames reports whether managers of two versions call the controllers alike.
func SameNames(a, b string) bool { return Renamed(a) == Renamed(b) }

// knowsWildcard reports whether managers of a version read * as any component.
func knowsWildcard(version string) bool { return version == "" || k8s.From(version, "v1.22") }

// migrated lists what a manager of a version may hand over.
func migrated(version string, withNodeIPAM bool) []string {
	names := lists.Map(cloudControllers, func(c controller) string { return c.name(version) })
	if withNodeIPAM {
		names = append(names, nodeIPAM.name(version))
	}
	return names
}

// apiVersions lists the versions of the configuration that a manager reads, the
// best one first; all of them where its own version is not known.
func apiVersions(version string) []string {
	switch {
	case version == "", k8s.From(version, "v1.24"):
		return []string{"v1", "v1beta1", "v1alpha1"}
	case k8s.From(version, "v1.22"):
		return []string{"v1beta1", "v1alpha1"}
	case k8s.From(version, "v1.21"):
		return []string{"v1alpha1"}
	}
	return nil
}

// needsLock reports whether a version of the configuration has resourceLock.
func needsLock(api string) bool { return slices.Contains([]string{"v1alpha1", "v1beta1"}, api) }
