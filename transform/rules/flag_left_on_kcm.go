// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// FlagLeftOnKCM finds an external kube-controller-manager that keeps the flag.
var FlagLeftOnKCM = flagLeftOnKCM{transform.Rule{
	ID: "flag-left-on-kcm", Severity: transform.Error, Guards: theSwitch,
	Doc: "kube-controller-manager is external and keeps enable-leader-migration: it holds the lease and runs nothing, so the cloud-controller-manager never starts its controllers.",
}}

type flagLeftOnKCM struct{ transform.Rule }

// Check evaluates the arguments of a kube-controller-manager and its provider.
func (flagLeftOnKCM) Check(list []args.Placed, provider string) []transform.Finding {
	a, set := args.LastPlaced(list, leaderFlag)
	if provider != external || !set || !a.True() {
		return nil
	}
	return one(a.Node, "kube-controller-manager is external and keeps enable-leader-migration: it wins the migration lease and runs no cloud controller, and the cloud-controller-manager waits forever",
		"remove the flag here")
}
