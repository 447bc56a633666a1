// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import "golang.org/x/mod/semver"

// newest are the newest releases of RKE by their minors (rancher/rke, data/data.json at v1.8.14,
// K8sVersionRKESystemImages).
var newest = map[string]string{
	"v1.22": "v1.22.17-rancher1-2", "v1.23": "v1.23.16-rancher2-3", "v1.24": "v1.24.17-rancher1-1",
	"v1.25": "v1.25.16-rancher2-3", "v1.26": "v1.26.15-rancher1-1", "v1.27": "v1.27.16-rancher1-1",
	"v1.28": "v1.28.15-rancher1-1", "v1.29": "v1.29.15-rancher1-1", "v1.30": "v1.30.14-rancher1-1",
	"v1.31": "v1.31.14-rancher1-1", "v1.32": "v1.32.13-rancher1-3",
}

// newestOf returns the newest release of a minor, or "".
func newestOf(minor string) string { return newest[semver.MajorMinor(minor)] }
