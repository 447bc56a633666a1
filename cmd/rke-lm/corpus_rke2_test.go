// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rke2Kind are clusters of Rancher's provisioning API.
var rke2Kind = corpusKind{
	format:  rke2.Format(),
	in:      func(c yamledit.Chunk) bool { return clusterWords.Match(c.Bytes) },
	isPart:  func(doc *yamledit.Document) bool { return holdsPartOfCluster(doc.Root()) },
	turns:   [][]choice{{{name: "external", target: transform.Target{EndState: transform.EndStateExternal}}}, choices, late()},
	sampled: 1, fewest: 15,
	at:    func(doc *yamledit.Document) yamledit.Node { return doc.Root().Get("spec", "rkeConfig") },
	first: []graftEdit{supportedVersion, usableNames, usablePools, aControlPlane}, grafts: slices.Concat(clusterGrafts, chartGrafts),
	promises: map[string]func(*outcome, difference) error{
		stages.GrantMigrationLease: when(isGrant), stages.EnableLeaderMigration: when(isFlagAdded), stages.InstallCCM: isInstall,
		stages.SwitchToExternal: isSwitch, stages.DisableLeaderMigration: isDisable,
	},
	end:   machinesEndExternal,
	occur: []transform.Situation{transform.Broken, transform.NamesOnly},
}

var clusterWords = regexp.MustCompile(`provisioning\.cattle\.io/v1|rkeConfig|machineGlobalConfig|machineSelectorConfig`)

// holdsPartOfCluster reports whether a key below n belongs to a cluster.
func holdsPartOfCluster(n yamledit.Node) bool {
	for _, e := range n.Entries() {
		if slices.Contains([]string{"rkeConfig", "machineGlobalConfig", "machineSelectorConfig"}, e.Key) {
			return true
		}
	}
	return slices.ContainsFunc(n.Children(), holdsPartOfCluster)
}

// choices are those of clusters with the in-tree provider.
var choices = []choice{
	{name: "no choice", target: transform.Target{}},
	{name: "override", target: transform.Target{EndState: transform.EndStateOverride}},
	{name: "override, kept", target: transform.Target{EndState: transform.EndStateOverride, KeepLeaderMigration: true, Cordon: transform.CordonAlways}},
	{name: "next minor", target: transform.Target{EndState: transform.EndStateExternal, Version: olderThanGrafted}},
	{name: "next minor, override", target: transform.Target{EndState: transform.EndStateOverride, Version: olderThanGrafted, Cordon: transform.CordonAlways}},
	{name: "without leader migration", target: transform.Target{EndState: transform.EndStateExternal, NoLeaderMigration: true}},
	{name: "without leader migration, override", target: transform.Target{EndState: transform.EndStateOverride, NoLeaderMigration: true, Version: olderThanGrafted}},
	{name: "kept", target: transform.Target{EndState: transform.EndStateExternal, KeepLeaderMigration: true, Cordon: transform.CordonNever}},
	{name: "cordoned", target: transform.Target{EndState: transform.EndStateExternal, Cordon: transform.CordonAlways}},
	{name: "another chart", target: transform.Target{EndState: transform.EndStateExternal, ChartVersion: "0.0.7", ChartRepo: "https://charts.example.com", ImageRepository: "registry.example.com/ccm", ImageTag: "v1.26.5"}},
}

// olderThanGrafted is one minor older than graftedVersion.
const olderThanGrafted = "v1.27.16+rke2r1"

// late are releases without the in-tree provider, on both sides of those from which aws only names nodes, and the ends that
// a cluster of one can have.
func late() (all []choice) {
	releases := []string{
		"v1.27.16+rke2r1", "v1.28.15+rke2r1", "v1.29.10+rke2r1", "v1.29.11+rke2r1", "v1.30.6+rke2r1", "v1.30.7+rke2r1",
		"v1.31.2+rke2r1", "v1.31.3+rke2r1", "v1.32.7+rke2r1", "v1.33.3+rke2r1", "v1.34.1+rke2r1",
	}
	for i := range 3 * len(releases) {
		release := releases[i%len(releases)]
		// What is chosen when nothing is requested, lab/chart holds to the charts.
		t := transform.Target{ImageTag: semver.MajorMinor(release) + ".1", ChartVersion: "0.0.11"}
		t.EndState = []string{"", transform.EndStateExternal, transform.EndStateOverride}[i%3]
		all = append(all, choice{fmt.Sprintf("%s, end state %q", release, t.EndState), t, release})
	}
	return all
}
