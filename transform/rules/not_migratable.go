// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// NotMigratable is for clusters that every verb but lint refuses. A distro describes
// which.
var NotMigratable = transform.Rule{
	ID: transform.RuleNotMigratable, Severity: transform.Error, Guards: TheSwitch, Acceptable: true,
}

// UnknownProvider refuses an argument by which a component gets a provider that is
// neither aws nor external. of says whose argument it is.
func UnknownProvider(a args.Placed, of string) error {
	return transform.NotMigratable(a.Node, of+" has the cloud provider "+strconv.Quote(a.Value)+", which is neither aws nor external", "write cloud-provider=aws or cloud-provider=external, or remove the argument")
}
