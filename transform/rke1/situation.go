// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

// situation reports what the release and the provider leave of a migration. The file of a
// cluster that is external does not show whether the chart takes part in one.
func (m *migration) situation() transform.Situation {
	inTreeLeft := slices.ContainsFunc(components, func(service string) bool { return m.component(service) == inTree })
	if !k8s.From(m.Version, k8s.FirstWithout) {
		return transform.InTree
	}
	switch {
	case inTreeLeft:
		return transform.Broken
	case m.neverGranted() && !m.migrates() && (m.file == nil || !m.file.chart.Migrates()):
		return transform.Rescued
	}
	return transform.InTree
}
