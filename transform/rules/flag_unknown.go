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
)

// FlagUnknown checks the flags and feature gates of components against those of the release.
var FlagUnknown = OfComponents{
	transform.Rule{
		ID: "flag-unknown", Severity: transform.Error, Guards: newRelease, Acceptable: true,
		Doc: "A component is given a flag or a feature gate that it does not have in the release that the cluster runs or moves to, and does not start. A note for a release that is later than the tables, which end at 1.36.",
	},
	flagUnknown,
}

// flagUnknown leaves the arguments that other rules check by themselves to them.
func flagUnknown(c Component, at transform.Report) {
	check := func(a args.Placed, of, what, name string) {
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
		if f := at(a.Node, message+", and does not start with it", "remove it, or correct its name"); !sure {
			f.Severity = transform.Note
		}
	}
	for _, a := range c.Args {
		name := strings.TrimRight(strings.ReplaceAll(a.Name, "_", "-"), "+-")
		switch {
		case name == args.GatesFlag:
			for _, gate := range slices.Sorted(maps.Keys(args.Gates([]args.Arg{a.Arg}))) {
				if gate != csiGate && gate != migrationGate {
					check(a, k8s.Gates, "feature gate ", gate)
				}
			}
		case c.Name != "kube-apiserver" || name != "cloud-provider" && name != "cloud-config":
			check(a, c.Name, "flag --", name)
		}
	}
}
