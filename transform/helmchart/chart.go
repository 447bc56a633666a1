// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmchart reads HelmCharts and HelmChartConfigs of helm.cattle.io/v1 as
// RKE2 does: which chart they install, and which values reach it.
//
// Invariant: values are merged in the order of helm-controller and Helm, and what
// the file does not show is unknown, never assumed.
//
// Sources: k3s-io/helm-controller pkg/helm/controller.go at v0.11.7 and v0.12.1,
// pkg/controllers/chart/chart.go at v0.15.9, v0.16.11 and v0.17.7; k3s-io/klipper-helm
// entry; helm v3.19.2 pkg/cli/values/options.go and pkg/chartutil/coalesce.go.
package helmchart

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Chart is a HelmChart among manifests.
type Chart struct {
	Index int           // of its document
	Root  yamledit.Node // the object
}

// Charts returns the HelmCharts among manifests that install anything.
func Charts(docs []*yamledit.Document) []Chart {
	return lists.Where(objects(docs, "HelmChart"), func(c Chart) bool { return c.text("chart") != "" || c.text(contentKey) != "" })
}

// Spec returns a field of the HelmChart's spec.
func (c Chart) Spec(key string) yamledit.Node { return c.Root.Get("spec", key) }

// Name returns the name of the HelmChart, which is that of the Helm release.
func (c Chart) Name() string { return c.Root.StringAt("metadata", "name") }

// Namespace returns the namespace of the HelmChart.
func (c Chart) Namespace() string { return namespace(c.Root) }

func (c Chart) text(key string) string { return c.Root.StringAt("spec", key) }

// namespace returns the namespace of an object of additionalManifest: RKE2 applies
// what names none to "default" (wrangler pkg/apply/apply.go).
func namespace(root yamledit.Node) string {
	return cmp.Or(root.StringAt("metadata", "namespace"), "default")
}

// objects returns the objects of a kind, and those in lists, as RKE2 applies
// them (k3s pkg/deploy/controller.go, toObjects).
func objects(docs []*yamledit.Document, kind string) (found []Chart) {
	for i, d := range docs {
		for _, root := range append([]yamledit.Node{d.Root()}, d.Root().Get("items").Items()...) {
			if root.StringAt("kind") == kind {
				found = append(found, Chart{Index: i, Root: root})
			}
		}
	}
	return found
}

// Reference is the chart that spec.chart names.
type Reference struct {
	Name    string // of the chart
	Version string // in the reference itself, or ""
	Archive bool   // the URL of one archive: spec.version has no effect
}

// versioned is the name of an archive as helm package writes it.
var versioned = regexp.MustCompile(`^(.+?)-(v?[0-9]+\.[0-9]+\.[0-9]+\S*)$`)

// ParseReference reads spec.chart: NAME, REPO/NAME, oci://HOST/NAME, or the URL of
// an archive.
func ParseReference(chart string) Reference {
	if registry, is := strings.CutPrefix(chart, "oci://"); is { // which may end in a tag or a digest
		registry, digest, _ := strings.Cut(registry, "@")
		name, tag, _ := strings.Cut(path.Base(registry), ":")
		return Reference{Name: name, Version: cmp.Or(tag, digest)}
	}
	if scheme, after, found := strings.Cut(chart, "://"); found && scheme != "" {
		chart, _, _ = strings.Cut(after, "?")
		chart, _, _ = strings.Cut(chart, "#")
	}
	base := path.Base(chart)
	if unescaped, err := url.PathUnescape(base); err == nil {
		base = unescaped
	}
	for _, ending := range []string{".tgz", ".tar.gz"} {
		name, archive := strings.CutSuffix(base, ending)
		if !archive {
			continue
		}
		if m := versioned.FindStringSubmatch(name); m != nil {
			return Reference{Name: m[1], Version: m[2], Archive: true}
		}
		return Reference{Name: name, Archive: true}
	}
	return Reference{Name: base}
}
