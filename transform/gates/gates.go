// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package gates judges the feature gates that a migration depends on.
//
// Invariant: a gate is judged for the release of the component that reads it,
// by its value there; where it stands is the distro's to know.
package gates

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

const (
	// Flag is the argument that holds gates.
	Flag = "feature-gates"
	// CSI moves volumes of the in-tree provider to the EBS CSI driver: locked
	// from 1.25 on, gone from 1.27 on.
	CSI = "CSIMigrationAWS"
	// LeaderMigration is on by default in 1.22 and 1.23, locked from 1.24 on, gone
	// from 1.27 on.
	LeaderMigration = "ControllerManagerLeaderMigration"
)

// Of returns the gates that arguments name, with their values.
func Of(list []args.Arg) map[string]string {
	gates := map[string]string{}
	for _, a := range list {
		if a.Name != Flag {
			continue
		}
		for _, g := range strings.Split(a.Value, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(g), "="); name != "" {
				gates[name] = strings.TrimSpace(value)
			}
		}
	}
	return gates
}

// Judge says what is wrong with the value of a gate and what to do, or "".
type Judge func(value string) (message, fix string)

// StaleCSI judges the gate that the published pages tell in-tree users to set.
func StaleCSI(version string) Judge {
	return func(value string) (string, string) {
		switch {
		case k8s.From(version, k8s.FirstWithout):
			return "Kubernetes " + semver.MajorMinor(version) + " does not know the feature gate " + CSI + ", and the component stops", "remove the gate"
		case k8s.From(version, "v1.25") && isOff(value):
			return "the feature gate " + CSI + " is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node"
		}
		return "", ""
	}
}

// EndingCSI judges the same gate for releases that still take it: from 1.23 on it
// is on unless it is set, and 1.25 stops where it is off.
func EndingCSI(version string) Judge {
	return func(value string) (string, string) {
		if k8s.From(version, "v1.23") && !k8s.From(version, "v1.25") && isOff(value) {
			return "the feature gate " + CSI + " is off, which keeps EBS volumes in-tree; from Kubernetes 1.25 on the component stops with it", "install the EBS CSI driver on every node and remove the gate before the upgrade to 1.25, and before the switch to external"
		}
		return "", ""
	}
}

// Noted makes findings notes.
func Noted(found []transform.Finding) []transform.Finding {
	for i := range found {
		found[i].Severity = transform.Note
	}
	return found
}

// StaleMigration judges the gate of leader migration itself.
func StaleMigration(version string) Judge {
	return func(value string) (string, string) {
		switch {
		case k8s.From(version, k8s.FirstWithout):
			return "release " + semver.MajorMinor(version) + " does not know the feature gate " + LeaderMigration + ", and the component stops", "remove the gate"
		case isOff(value):
			return "the feature gate " + LeaderMigration + " is off: leader migration does not work, and from 1.24 on the component stops", "remove the gate"
		}
		return "", ""
	}
}

func isOff(gate string) bool { return strings.EqualFold(gate, "false") || gate == "0" }

// Find finds the arguments in which a gate has a value that is at fault.
func Find(list []args.Placed, gate string, judge Judge, at transform.Report) []transform.Finding {
	var found []transform.Finding
	for _, a := range list {
		value, named := Of([]args.Arg{a.Arg})[gate]
		if !named {
			continue
		}
		if message, fix := judge(value); message != "" {
			found = append(found, at(a.Node, message, fix))
		}
	}
	return found
}
