// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	gatesFlag     = "feature-gates"
	csiGate       = "CSIMigrationAWS"
	migrationGate = "ControllerManagerLeaderMigration"
)

// gateKeys are the arguments of the components that read feature gates.
var gateKeys = []string{kubeletArgs, "kube-proxy-arg", apiServerArgs, managerArgs, "kube-scheduler-arg"}

// gatesIn returns the feature gates that arguments name, with their values.
func gatesIn(list []args.Arg) map[string]string {
	gates := map[string]string{}
	for _, a := range list {
		if a.Name != gatesFlag {
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

func isOff(gate string) bool { return strings.EqualFold(gate, "false") || gate == "0" }

// reached is the release that the cluster runs, or the later one that it is
// about to move to.
func (m *migration) reached() string {
	if isRelease(m.target.Version) && semver.Compare(m.target.Version, m.Version) > 0 {
		return m.target.Version
	}
	return m.Version
}

// from reports whether a release is of a minor or a later one.
func from(version, minor string) bool { return semver.Compare(semver.MajorMinor(version), minor) >= 0 }

// csiGateStale judges the gate that the published pages tell in-tree users to
// set: locked from 1.25 on, gone from 1.27 on.
func (m *migration) csiGateStale() []transform.Finding {
	version := m.reached()
	return m.eachGate(csiGate, func(value string) (string, string) {
		switch {
		case from(version, "v1.27"):
			return "Kubernetes " + semver.MajorMinor(version) + " does not know the feature gate " + csiGate + ", and the component stops", "remove the gate"
		case from(version, "v1.25") && isOff(value):
			return "the feature gate " + csiGate + " is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node"
		}
		return "", ""
	})
}

// migrationGateStale judges the gate of leader migration itself: on by default
// in 1.22 and 1.23, locked from 1.24 on, gone from 1.27 on.
func (m *migration) migrationGateStale() []transform.Finding {
	inChart := m.eachChart(func(c installed) []transform.Finding {
		version := c.chart.ImageTag() // the manager that reads these gates
		if !semver.IsValid(version) {
			version = m.reached()
		}
		return judgeGate(argNodes(c.chart.Values.Get("args")), migrationGate, staleAt(version), c.inValues)
	})
	return append(m.eachGate(migrationGate, staleAt(m.reached())), inChart...)
}

// staleAt judges the gate of leader migration for a release.
func staleAt(version string) func(value string) (message, fix string) {
	return func(value string) (string, string) {
		switch {
		case from(version, "v1.27"):
			return "release " + semver.MajorMinor(version) + " does not know the feature gate " + migrationGate + ", and the component stops", "remove the gate"
		case isOff(value):
			return "the feature gate " + migrationGate + " is off: leader migration does not work, and from 1.24 on the component stops", "remove the gate"
		}
		return "", ""
	}
}

// eachGate calls judge for every argument that sets a gate on any machine.
func (m *migration) eachGate(gate string, judge func(value string) (message, fix string)) []transform.Finding {
	var found []transform.Finding
	for _, key := range gateKeys {
		runs := func(c Class) bool { return key == "kube-proxy-arg" || m.needs(c, key) }
		for _, at := range m.winners(key, runs) {
			found = append(found, judgeGate(argNodes(at), gate, judge, transform.FindingAt)...)
		}
	}
	return found
}

func judgeGate(list []argNode, gate string, judge func(string) (string, string), at func(yamledit.Node, string, string) transform.Finding) []transform.Finding {
	var found []transform.Finding
	for _, a := range list {
		value, named := gatesIn([]args.Arg{a.Arg})[gate]
		if !named {
			continue
		}
		if message, fix := judge(value); message != "" {
			found = append(found, at(a.node, message, fix))
		}
	}
	return found
}

// argNode is an argument and where it stands.
type argNode struct {
	args.Arg
	node yamledit.Node
}

// argNodes returns the arguments in a string or a list.
func argNodes(at yamledit.Node) []argNode {
	nodes := at.Items()
	if at.IsScalar() {
		nodes = []yamledit.Node{at}
	}
	var list []argNode
	for _, n := range nodes {
		if text, ok := n.String(); ok && text != "" {
			list = append(list, argNode{args.Parse(text), n})
		}
	}
	return list
}
