// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

func isOff(gate string) bool { return strings.EqualFold(gate, "false") || gate == "0" }

// CSIGateStale checks the gate that older documentation has in-tree users set. It moves
// volumes of the in-tree provider to the EBS CSI driver: locked from 1.25 on, gone
// from 1.27 on.
var CSIGateStale = ofComponents(
	transform.Rule{
		ID: "csi-gate-stale", Severity: transform.Error, Guards: NewRelease,
		Doc: "The feature gate CSIMigrationAWS is set to false for Kubernetes 1.25 or later, or named for 1.27 or later, which stops the component. A note at 1.23 and 1.24, where false still works.",
	}.Because("A component that is given a gate that is locked or removed exits: from 1.25 on CSIMigrationAWS=false, from 1.27 on the name itself.", "kubernetes/kubernetes pkg/features/kube_features.go, v1.23 to v1.27", "Remove CSIMigrationAWS from every feature-gates argument.", "Never with the release that the finding names; the component does not start."),
	func(c Component, at transform.Report) {
		for _, a := range c.Args {
			switch value, named := args.Gates([]args.Arg{a})[aws.CSIGate]; {
			case !named:
			case k8s.From(c.Version, aws.FirstWithout):
				at(a.Node(), "Kubernetes "+semver.MajorMinor(c.Version)+" does not know the feature gate "+aws.CSIGate+", and the component stops", "remove the gate")
			case !isOff(value):
			case k8s.From(c.Version, "v1.25"):
				at(a.Node(), "the feature gate "+aws.CSIGate+" is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node")
			case k8s.From(c.Version, "v1.23") && c.Stage == "": // only an upgrade to come stops: the release takes the gate and has it on by default
				at(a.Node(), "the feature gate "+aws.CSIGate+" is off, which keeps EBS volumes in-tree; from Kubernetes 1.25 on the component stops with it",
					"install the EBS CSI driver on every node and remove the gate before the upgrade to 1.25, and before the switch to external").Severity = transform.Note
			}
		}
	},
)

// FlagUnknown checks the flags and feature gates of components against those of the release.
var FlagUnknown = ofComponents(
	transform.Rule{
		ID: "flag-unknown", Severity: transform.Error, Guards: NewRelease,
		Doc: "A component does not start: the release that the cluster runs or moves to does not have one of its flags or feature gates. A note for a release that is later than the tables, which end at 1.36.",
	}.Because("A component with a flag or gate that it does not have exits, and after an upgrade no control plane, or no node, starts.", "kubernetes/kubernetes cmd and pkg/features, v1.22 to v1.36; rancher/rke2 #8926", "Remove the flag or the gate, or correct its name, before the upgrade.", "If the component is not the one of Kubernetes, and has the flag."),
	flagUnknown,
)

// flagUnknown leaves the arguments that other rules check by themselves to them.
func flagUnknown(c Component, at transform.Report) {
	check := func(a args.Arg, of, what, name string) {
		has, last, sure := k8s.FlagOf(of, name, c.Version)
		if has {
			return
		}
		message := fmt.Sprintf("%s %s has no %s%s", c.Name, semver.MajorMinor(c.Version)[1:], what, name)
		switch {
		case last == 0: // it can be anything, a secret too
			message = fmt.Sprintf("%s has nothing of this name, in no release", c.Name)
		case last < k8s.Minor(c.Version):
			message += fmt.Sprintf(", which 1.%d was the last to have", last)
		}
		if f := at(a.Node(), message+", and does not start with it", "remove it, or correct its name"); !sure {
			f.Severity = transform.Note
		}
	}
	for _, a := range c.Args {
		name := strings.TrimRight(strings.ReplaceAll(a.Name, "_", "-"), "+-")
		switch {
		case name == args.GatesFlag:
			for _, gate := range slices.Sorted(maps.Keys(args.Gates([]args.Arg{a}))) {
				if gate != aws.CSIGate && gate != migrationGate {
					check(a, k8s.Gates, "feature gate ", gate)
				}
			}
		case c.Name != "kube-apiserver" || name != "cloud-provider" && name != "cloud-config":
			check(a, c.Name, "flag --", name)
		}
	}
}
