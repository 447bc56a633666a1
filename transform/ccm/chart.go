// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ccm reads and changes the HelmChart of the
// aws-cloud-controller-manager.
//
// Invariant: what is checked is what reaches the chart after the merge of all
// sources of values, and what is changed is the source that wins.
package ccm

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

const (
	// ChartName is the name of the chart, its DaemonSet and its container.
	ChartName = aws.Manager
	// DefaultVersion is the chart's version that is pinned unless set otherwise.
	DefaultVersion = "0.0.8"
	// LaterVersion is the one that is pinned for Kubernetes 1.28 and later.
	LaterVersion = "0.0.11"
	// ValuesFile is the name of a file with the chart's values.
	ValuesFile = aws.Values + ".yaml"
	// LeaderFlag is the flag by which the manager takes part in a migration.
	LeaderFlag = leadermigration.Flag

	argsKey = "args"
)

// Chart is a HelmChart of the aws-cloud-controller-manager, with the values that
// reach it.
type Chart struct{ helmchart.Release }

// Find returns the chart among the manifests of a cluster, or the first one of
// several. It fails where the values of one cannot be read.
func Find(s helmchart.Sources) (Chart, bool, error) { return First(FindAll(s)) }

// First returns the first of some charts, and the error with which they were found.
func First(all []Chart, err error) (Chart, bool, error) {
	if len(all) == 0 {
		return Chart{}, false, err
	}
	return all[0], true, err
}

// FindAll returns all such charts, and the first one whose values cannot be read
// with the error.
func FindAll(s helmchart.Sources) ([]Chart, error) {
	var found []Chart
	s = s.Indexed()
	for _, c := range helmchart.Charts(s.Docs) {
		r, err := s.Read(c, publishedValues)
		chart := Chart{r}
		if !chart.isManager() {
			continue
		}
		found = append(found, chart)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// Args returns the manager's arguments.
func (c Chart) Args() []args.Arg { return args.Of(c.list(argsKey)) }

// Placed returns the arguments with their places.
func (c Chart) Placed() []args.Arg {
	l := c.Decider(argsKey)
	if at := l.Root.Get(argsKey); at.IsList() {
		return args.Place(at)
	}
	if l.Form != helmchart.Entry {
		return nil // the chart's own
	}
	return lists.Map(c.Args(), func(a args.Arg) args.Arg { return a.At(l.At) })
}

// list returns the value at a key of the chart where it is a list; a template that
// ranges over anything else renders nothing.
func (c Chart) list(key string) []any {
	list, _ := c.Value(key).([]any)
	return list
}

// Migrates reports whether the manager takes part in a leader migration.
func (c Chart) Migrates() bool { return args.Enables(c.Args(), LeaderFlag) }

// Version returns the pinned version of the chart, or "". An archive has one of its
// own, and spec.version then has no effect (klipper-helm, entry).
func (c Chart) Version() string {
	switch {
	case c.Archive != nil:
		return c.Archive.Version
	case c.Packed() || c.Reference.Version != "":
		return c.Reference.Version
	}
	return c.Root.StringAt("spec", "version")
}

// Pinned reports whether the chart has an exact version. One that the file holds
// has, whatever it is called.
func (c Chart) Pinned() bool {
	v := c.Version()
	return c.Spec("chartContent").Exists() || semver.IsValid("v"+v) || semver.IsValid(v) || strings.HasPrefix(v, "sha256:")
}

// Packed reports whether the HelmChart names an archive, or holds it.
func (c Chart) Packed() bool { return c.Reference.Archive || c.Archive != nil || c.ArchiveErr != nil }

// ImageTag returns the pinned tag of the image, or "".
func (c Chart) ImageTag() string {
	tag, _ := c.Value("image", "tag").(string)
	return tag
}

// ImageMinor returns the minor of the pinned image, such as "v1.26", or "".
func (c Chart) ImageMinor() string { return semver.MajorMinor(c.ImageTag()) }

// RoutesUnsafe reports whether the route controller is on without the range of
// addresses that it needs.
func (c Chart) RoutesUnsafe() bool { return RoutesUnsafe(c.Args()) }

// RoutesUnsafe reports whether a manager with these arguments writes routes and has
// no range of addresses for them: by default it writes them, and the process then
// ends when it acquires the lease (k8s.io/cloud-provider/app/core.go).
func RoutesUnsafe(list []args.Arg) bool {
	const routes = "configure-cloud-routes"
	return (args.Enables(list, routes) || !args.Has(list, routes)) && args.Value(list, "cluster-cidr") == ""
}

// LacksProvider reports whether a list of arguments left out the provider.
func (c Chart) LacksProvider() bool { return args.Value(c.Args(), "cloud-provider") != aws.Name }

// LacksRights reports whether the arguments need a right that neither the
// chart's default rules nor the values grant: get on serviceaccounts.
func (c Chart) LacksRights() bool {
	return args.Enables(c.Args(), "use-service-account-credentials") && !slices.ContainsFunc(c.list("clusterRoleRules"), func(v any) bool {
		rule, _ := v.(map[string]any)
		return holds(rule["resources"], "serviceaccounts") && holds(rule["verbs"], "get")
	})
}

func holds(v any, want string) bool {
	list, _ := v.([]any)
	return slices.ContainsFunc(list, func(v any) bool { return v == want || v == "*" })
}
