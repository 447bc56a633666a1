// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ccm reads and changes the HelmChart of the
// aws-cloud-controller-manager.
//
// Invariant: values are judged after Helm's merge with the chart's own
// defaults: mappings are merged, lists are replaced (chart
// aws-cloud-controller-manager, values.yaml).
package ccm

import (
	"path"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// ChartName is the name of the chart, its DaemonSet and its container.
	ChartName = "aws-cloud-controller-manager"
	// Repository is where the chart is published.
	Repository = "https://kubernetes.github.io/cloud-provider-aws"
	// DefaultVersion is the chart's version that is pinned unless told otherwise.
	DefaultVersion = "0.0.8"
	// ValuesFile is the name of a file with the chart's values.
	ValuesFile = "aws-ccm-values.yaml"
	// LeaderFlag is the flag by which the manager takes part in a migration.
	LeaderFlag = leadermigration.Flag

	valuesKey = "valuesContent"
)

// Chart is a HelmChart of the aws-cloud-controller-manager.
type Chart struct {
	Index  int           // of its document in the manifest
	Root   yamledit.Node // the HelmChart
	Values yamledit.Node // the root of its values; may not exist
}

// Find returns the chart among the documents of a manifest. It fails where the
// values of one cannot be read.
func Find(docs []*yamledit.Document) (Chart, bool, error) {
	for i, d := range docs {
		root := d.Root()
		if text(root, "kind") != "HelmChart" || path.Base(text(root, "spec", "chart")) != ChartName {
			continue
		}
		c := Chart{Index: i, Root: root}
		at := root.Get("spec", valuesKey)
		if !at.Exists() || at.IsNull() {
			return c, true, nil
		}
		values, err := at.Embedded()
		if err != nil {
			return c, true, err
		}
		c.Values = values.Documents()[0].Root()
		return c, true, nil
	}
	return Chart{}, false, nil
}

// defaultArgs are the arguments of the chart when its values state none.
var defaultArgs = []any{"--v=2", "--cloud-provider=aws"}

// Args returns the manager's arguments.
func (c Chart) Args() []args.Arg {
	if v, ok := c.Values.Get("args").Value().([]any); ok {
		return args.Of(v)
	}
	return args.Of(defaultArgs)
}

// Migrates reports whether the manager takes part in a leader migration.
func (c Chart) Migrates() bool {
	a, on := args.Last(c.Args(), LeaderFlag)
	return on && a.True()
}

// Version returns the pinned version of the chart, or "".
func (c Chart) Version() string { return text(c.Root, "spec", "version") }

// ImageTag returns the pinned tag of the image, or "".
func (c Chart) ImageTag() string { return text(c.Values, "image", "tag") }

// ImageMinor returns the minor of the pinned image, such as "v1.26", or "".
func (c Chart) ImageMinor() string { return semver.MajorMinor(c.ImageTag()) }

// RoutesUnsafe reports whether the route controller is on without the range of
// addresses that it needs: the process then ends when it gains the lease.
func (c Chart) RoutesUnsafe() bool {
	list := c.Args()
	if a, set := args.Last(list, "configure-cloud-routes"); set && !a.True() {
		return false
	}
	_, hasRange := args.Last(list, "cluster-cidr")
	return !hasRange
}

// LacksProvider reports whether a list of arguments left out the provider.
func (c Chart) LacksProvider() bool {
	a, set := args.Last(c.Args(), "cloud-provider")
	return !set || a.Value != "aws"
}

// LacksRights reports whether the arguments need a right that neither the
// chart's default rules nor the values grant: get on serviceaccounts.
func (c Chart) LacksRights() bool {
	a, set := args.Last(c.Args(), "use-service-account-credentials")
	if !set || !a.True() {
		return false
	}
	return !slices.ContainsFunc(c.Values.Get("clusterRoleRules").Items(), func(r yamledit.Node) bool {
		return holds(r.Get("resources"), "serviceaccounts") && holds(r.Get("verbs"), "get")
	})
}

func holds(list yamledit.Node, want string) bool {
	return slices.ContainsFunc(list.Items(), func(n yamledit.Node) bool {
		s, _ := n.String()
		return s == want || s == "*"
	})
}

func text(n yamledit.Node, keys ...string) string {
	s, _ := n.Get(keys...).String()
	return s
}
