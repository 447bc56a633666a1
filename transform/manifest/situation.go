// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

// situation reports what the manifests of a cluster leave of a migration. From 1.27 on a
// manager and a kubelet exit with the provider aws. A manifest alone does not show whether
// what is external takes part in a migration that began before.
func situation(members []*migration) transform.Situation {
	if slices.ContainsFunc(members, (*migration).stops) {
		return transform.Broken
	}
	return transform.InTree
}

// stops reports whether what the manifest is for does not start with its provider. The
// cloud-controller-manager does.
func (m *migration) stops() bool { return m.inTree() && k8s.From(m.Version, k8s.FirstWithout) }

func (m *migration) inTree() bool {
	name, _ := m.provider()
	return m.Component != cloudManager && name == inTree
}
