// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// FlagOnExternalGate checks the gate of leader migration itself: on by default in 1.22
// and 1.23, locked from 1.24 on, gone from 1.27 on.
var FlagOnExternalGate = OfComponents{
	transform.Rule{
		ID: "flag-on-external-gate", Severity: transform.Error, Guards: append([]string{stages.UpgradeKubernetes}, FlagEdits...), Acceptable: true,
		Doc: "The feature gate ControllerManagerLeaderMigration is named for Kubernetes 1.27 or later, which stops the component, or set to false, which leader migration does not work with.",
	},
	func(c Component, at transform.Report) {
		inGates(c.Args, migrationGate, func(value string) (message, fix string) {
			switch {
			case k8s.From(c.Version, k8s.FirstWithout):
				return "release " + semver.MajorMinor(c.Version) + " does not know the feature gate " + migrationGate + ", and the component stops", "remove the gate"
			case isOff(value):
				return "the feature gate " + migrationGate + " is off: leader migration does not work, and from 1.24 on the component stops", "remove the gate"
			}
			return "", ""
		}, at)
	},
}

const migrationGate = "ControllerManagerLeaderMigration"
