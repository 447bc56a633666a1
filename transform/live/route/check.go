// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// TwoOwners reports whether findings say that both managers run the cloud
// controllers. Pods and leases that are about to go may say so for a moment.
func TwoOwners(findings []transform.Finding) bool { return finds(findings, "cloud-controllers-twice") }

// Permanent reports whether findings do not pass by waiting: a node that came back
// under another name stays it, and one that joined stays new.
func Permanent(findings []transform.Finding) bool {
	return finds(findings, "node-renamed") || finds(findings, "node-new")
}

func finds(findings []transform.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f transform.Finding) bool { return f.Rule == rule && f.Stops() })
}
