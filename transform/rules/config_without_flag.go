// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// ConfigWithoutFlag finds the configuration of a manager that takes no part in the
// migration. One that is external already may keep it for an undo.
var ConfigWithoutFlag = OfComponents{
	transform.Rule{ID: "config-without-flag", Severity: transform.Error, Guards: BothManagers, Acceptable: true},
	func(c Component, at transform.Report) {
		switch a, idle := IdleConfig(c.Args); {
		case !idle:
		case c.Provider == external:
			at(a.Node, "an external manager takes no part in the migration, and ignores its configuration", "remove the argument once no undo needs it").Severity = transform.Note
		default:
			at(a.Node, "without enable-leader-migration the manager ignores its configuration, and takes no part in the migration", "add enable-leader-migration, or remove the argument")
		}
	},
}

// IdleConfig returns the argument that names a configuration where the flag is not on.
func IdleConfig(list []args.Placed) (args.Placed, bool) {
	flag, _ := args.LastPlaced(list, leaderFlag)
	a, named := args.LastPlaced(list, configFlag)
	return a, named && !flag.True()
}
