// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CSIGateStale checks the gate that older documentation has in-tree users set. It moves
// volumes of the in-tree provider to the EBS CSI driver: locked from 1.25 on, gone
// from 1.27 on.
var CSIGateStale = OfComponents{
	transform.Rule{
		ID: "csi-gate-stale", Severity: transform.Error, Guards: newRelease, Acceptable: true,
		Doc: "The feature gate CSIMigrationAWS is set to false for Kubernetes 1.25 or later, or named for 1.27 or later, which stops the component. A note at 1.23 and 1.24, where false still works.",
	},
	func(c Component, at transform.Report) {
		inGates(c.Args, csiGate, func(value string) (string, string) { return staleGate(c.Version, value) }, at)
		if c.Stage != "" {
			return
		}
		inGates(c.Args, csiGate, func(value string) (string, string) { return endingGate(c.Version, value) }, func(n yamledit.Node, message, fix string) *transform.Finding {
			f := at(n, message, fix)
			f.Severity = transform.Note
			return f
		})
	},
}

const csiGate = "CSIMigrationAWS"

// endingGate is about a value that only an upgrade to come stops at: a note, which stops no stage. The
// release takes the gate and has it on by default.
func endingGate(version, value string) (message, fix string) {
	if !isOff(value) || !k8s.From(version, "v1.23") || k8s.From(version, "v1.25") {
		return "", ""
	}
	return "the feature gate " + csiGate + " is off, which keeps EBS volumes in-tree; from Kubernetes 1.25 on the component stops with it",
		"install the EBS CSI driver on every node and remove the gate before the upgrade to 1.25, and before the switch to external"
}

func staleGate(version, value string) (message, fix string) {
	switch {
	case k8s.From(version, k8s.FirstWithout):
		return "Kubernetes " + semver.MajorMinor(version) + " does not know the feature gate " + csiGate + ", and the component stops", "remove the gate"
	case k8s.From(version, "v1.25") && isOff(value):
		return "the feature gate " + csiGate + " is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node"
	}
	return "", ""
}
