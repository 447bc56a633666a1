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
var ChartUnpinned = chartUnpinned{transform.Rule{
	ID: "chart-unpinned", Severity: transform.Error, Guards: installCCM, Acceptable: true,
}}

type chartUnpinned struct{ transform.Rule }

// Image checks the tag of the image; known is that of the cluster's minor, or "". at reports
// about the tag.
func (chartUnpinned) Image(c ccm.Chart, known string, at func(message, fix string, path ...string) transform.Finding) []transform.Finding {
	if semver.IsValid(c.ImageTag()) {
		return nil
	}
	fix := "set image.tag to a release of the cluster's minor"
	if known != "" {
		fix = "set image.tag: " + known
	}
	return []transform.Finding{at("the image tag is not a release, so the default of the chart takes effect", fix, "image", "tag")}
}
