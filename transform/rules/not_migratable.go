// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// NotMigratable is for clusters that every verb but lint refuses. A distro describes
// which.
var NotMigratable = notMigratable{transform.Rule{
	ID: transform.RuleNotMigratable, Severity: transform.Error, Guards: theSwitch, Acceptable: true,
}}

type notMigratable struct{ transform.Rule }

// UnknownProvider refuses an argument by which a component gets a provider that is
// neither aws nor external. of says whose argument it is.
func (notMigratable) UnknownProvider(a args.Placed, of string) error {
	return transform.NotMigratable(a.Node, of+" has the cloud provider "+strconv.Quote(a.Value)+", which is neither aws nor external", "write cloud-provider=aws or cloud-provider=external, or remove the argument")
}

// Warning is about a part of a cluster that people have to look after: it refuses
// nothing.
func (notMigratable) Warning(n yamledit.Node, message, fix string) []transform.Finding {
	return as(transform.Warning, one(n, message, fix))
}
