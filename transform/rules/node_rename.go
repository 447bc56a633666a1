// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// NodeRename is for nodes that may get another name with an external provider. How
// they get their names is the distro's, which describes it.
var NodeRename = nodeRename{transform.Rule{
	ID: "node-rename", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
}}

type nodeRename struct{ transform.Rule }

// Applies reports whether the names of nodes have to be chosen: the operator chose
// no end state, and the provider is in-tree, or external by the switch that is checked.
// A document that is external already says nothing about the past.
func (nodeRename) Applies(provider, stage string, t transform.Target) bool {
	return t.EndState == "" && (provider == inTree || provider == external && stage != "")
}

// At is an error of the switch. A document that is still in-tree is warned of it.
func (nodeRename) At(n yamledit.Node, stage, message, fix string) []transform.Finding {
	found := one(n, message, fix)
	if stage == "" {
		return as(transform.Warning, found)
	}
	return found
}
