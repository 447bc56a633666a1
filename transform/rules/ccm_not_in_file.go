// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CCMNotInFile is for an external cluster whose cloud-controller-manager the file does
// not show.
var CCMNotInFile = transform.Rule{
	ID: transform.RuleNotInFile, Severity: transform.Warning, Guards: TheChart, Acceptable: true,
	Doc: "The provider is external, and no cloud-controller-manager of AWS is in the file: it was installed in another way, or there is none. Until it is accepted, plan --exit-code gives 1.",
}

// NotInFile is about the node that makes the cluster external; or is what else to do than
// to accept the rule.
func NotInFile(n yamledit.Node, or string, found *transform.Findings) {
	const look = "look with rke-lm verify whether one runs, then --accept ccm-not-in-file"
	found.At(n, "the provider is external, and no cloud-controller-manager of AWS is in the file: it was installed in another way, or there is none",
		look+"; "+or)
}
