// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// ConfigWithoutFlag finds the configuration of a manager that takes no part in the
// migration.
var ConfigWithoutFlag = configWithoutFlag{transform.Rule{
	ID: "config-without-flag", Severity: transform.Error, Guards: bothManagers, Acceptable: true,
}}

type configWithoutFlag struct{ transform.Rule }

// Idle returns the argument that names a configuration where the flag is not on.
func (configWithoutFlag) Idle(list []args.Placed) (args.Placed, bool) {
	flag, _ := args.LastPlaced(list, leaderFlag)
	a, named := args.LastPlaced(list, configFlag)
	return a, named && !flag.True()
}

// Check evaluates the arguments of one manager, which may be external already: then the
// configuration is spare, and it may wait for an undo.
func (r configWithoutFlag) Check(list []args.Placed, isExternal bool, at transform.Report) []transform.Finding {
	a, idle := r.Idle(list)
	switch {
	case !idle:
		return nil
	case isExternal:
		return as(transform.Note, []transform.Finding{at(a.Node, "an external manager takes no part in the migration, and ignores its configuration", "remove the argument once no undo needs it")})
	}
	return []transform.Finding{at(a.Node, "without enable-leader-migration the manager ignores its configuration, and takes no part in the migration", "add enable-leader-migration, or remove the argument")}
}
