// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Component is a component of Kubernetes on some machines.
type Component struct {
	Name     string // such as kube-apiserver
	Args     []args.Arg
	Provider string // that it takes, where a rule depends on it
	Version  string // that takes the arguments
	Stage    string // the one after which it is checked; "" for the document as it is
	Target   transform.Target
	// Place makes a finding about a node of the arguments; nil for one of the document.
	Place func(at yamledit.Node, message, fix string) transform.Finding
}

// finding is one about a node of the arguments.
func (c Component) finding(at yamledit.Node, message, fix string) transform.Finding {
	if c.Place == nil {
		return transform.FindingAt(at, message, fix)
	}
	return c.Place(at, message, fix)
}

// OfComponents is a rule that checks components one by one.
type OfComponents struct {
	transform.Rule
	Check func(Component, transform.Report)
}

// Components is the check of such a rule for the components that a format lists for it. What several
// machines have in common is found once.
func Components[C any](r OfComponents, list func(c C, rule string) []Component) func(C, *transform.Findings) {
	return func(c C, found *transform.Findings) {
		for _, one := range list(c, r.ID) {
			r.Check(one, func(at yamledit.Node, message, fix string) *transform.Finding {
				f := one.finding(at, message, fix)
				if slices.Contains(*found, f) {
					return &f
				}
				return found.Add(f)
			})
		}
	}
}

// Chart is that of the cloud-controller-manager, as a file shows it.
type Chart struct {
	ccm.Chart
	Format, Release string
	External        bool // the provider of the cluster
	Target          transform.Target
	Nodes           func() []ccm.NodeClass // of the control planes
	Label           string                 // which they have
	// At makes a finding about the value at a path.
	At func(message, fix string, path ...string) transform.Finding
}

// chartArgs is where the chart's values have the manager's arguments.
const chartArgs = "args"

// OfCharts is a rule that checks the values of a chart.
type OfCharts struct {
	transform.Rule
	Check func(Chart, *transform.Findings)
}

// Charts is the check of such a rule for the charts that a format lists for it.
func Charts[C any](r OfCharts, list func(c C, rule string) []Chart) func(C, *transform.Findings) {
	return func(c C, found *transform.Findings) {
		for _, one := range list(c, r.ID) {
			r.Check(one, found)
		}
	}
}
