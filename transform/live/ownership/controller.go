// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// Controller is one of the migrated controllers, by the name that managers up to
// 1.27 register.
type Controller string

// The migrated controllers (k8s.io/controller-manager).
const (
	Service       Controller = "service"
	Route         Controller = "route"
	NodeLifecycle Controller = "cloud-node-lifecycle"
)

// Controllers lists them all.
func Controllers() []Controller { return []Controller{Service, Route, NodeLifecycle} }

// defaultNames are those of the default configuration from 1.28 on. Only one of
// them is registered by anyone.
var defaultNames = map[Controller]string{
	Service: "service-controller", Route: "route-controller", NodeLifecycle: "cloud-node-lifecycle-controller",
}

const renamedAt = 28 // minor

// registered returns what a manager of a minor calls the controller.
func (c Controller) registered(minor int) string {
	if minor >= renamedAt {
		return c.newName()
	}
	return string(c)
}

func (c Controller) newName() string { return leadermigration.NewName(string(c)) }

// enabled reports whether --controllers lets a manager start the controller.
func (c Controller) enabled(list []args.Arg) bool {
	choice, set := args.Last(list, leadermigration.ControllersFlag)
	if !set {
		return true
	}
	return leadermigration.Starts(choice.Value, string(c))
}
