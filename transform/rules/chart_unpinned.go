// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
)

// ChartUnpinned finds a chart that a new release changes. A distro describes what of it a file
// shows.
var ChartUnpinned = OfCharts{
	transform.Rule{ID: "chart-unpinned", Severity: transform.Error, Guards: TheChart, Acceptable: true},
	func(c Chart, found *transform.Findings) {
		if semver.IsValid(c.ImageTag()) {
			return
		}
		fix := "set image.tag to a release of the cluster's minor"
		if known := ccm.DefaultTag(c.Distro, semver.MajorMinor(c.Release)); known != "" {
			fix = "set image.tag: " + known
		}
		found.Add(c.At("the image tag is not a release, so the default of the chart takes effect", fix, "image", "tag"))
	},
}
