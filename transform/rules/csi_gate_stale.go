// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

// CSIGateStale checks the gate that older documentation has in-tree users set. It moves
// volumes of the in-tree provider to the EBS CSI driver: locked from 1.25 on, gone
// from 1.27 on.
var CSIGateStale = csiGateStale{transform.Rule{
	ID: "csi-gate-stale", Severity: transform.Error, Guards: newRelease, Acceptable: true,
	Doc: "The feature gate CSIMigrationAWS is set to false for Kubernetes 1.25 or later, or named for 1.27 or later, which stops the component. A note at 1.23 and 1.24, where false still works.",
}}

type csiGateStale struct{ transform.Rule }

const csiGate = "CSIMigrationAWS"

// Check evaluates the arguments of a component of a version. What only an upgrade to come
// stops at is a note, and stops no stage: it is left out for one.
func (r csiGateStale) Check(list []args.Placed, version, stage string, at transform.Report) []transform.Finding {
	if r.ends(version) {
		if stage != "" {
			return nil
		}
		return as(transform.Note, inGates(list, csiGate, r.ending, at))
	}
	return inGates(list, csiGate, func(value string) (string, string) { return r.stale(version, value) }, at)
}

// ends reports whether a release takes the gate and has it on by default, and a later
// one stops with it.
func (csiGateStale) ends(version string) bool {
	return k8s.From(version, "v1.23") && !k8s.From(version, "v1.25")
}

func (csiGateStale) ending(value string) (message, fix string) {
	if !isOff(value) {
		return "", ""
	}
	return "the feature gate " + csiGate + " is off, which keeps EBS volumes in-tree; from Kubernetes 1.25 on the component stops with it",
		"install the EBS CSI driver on every node and remove the gate before the upgrade to 1.25, and before the switch to external"
}

func (csiGateStale) stale(version, value string) (message, fix string) {
	switch {
	case k8s.From(version, k8s.FirstWithout):
		return "Kubernetes " + semver.MajorMinor(version) + " does not know the feature gate " + csiGate + ", and the component stops", "remove the gate"
	case k8s.From(version, "v1.25") && isOff(value):
		return "the feature gate " + csiGate + " is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node"
	}
	return "", ""
}
