// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// situation reports what the release and the provider leave of a migration. From 1.27 on,
// aws either stops the components or, on the releases of ownNodeName, only names nodes.
func (m *migration) situation() transform.Situation {
	nodes := m.inTreeNodes()
	switch {
	case !k8s.From(m.Version, aws.FirstWithout):
		return transform.InTree
	case slices.ContainsFunc(nodes, m.stops), len(nodes) > 0 && k8s.From(m.Version, firstWithoutFlags) && len(m.removedArgs()) > 0: // a component does not start
		return transform.Broken
	case len(nodes) > 0:
		return transform.NamesOnly
	case m.showsLeaderMigration(), m.oldImage() && !m.target.Stepwise():
		return transform.InTree
	case m.lacksManager() && !k8s.From(m.Version, afterMigrations):
		return transform.InTree // what the file does not show may take part in one
	}
	if !m.onlyNamesNodes() {
		return transform.Rescued
	}
	return transform.External
}

// afterMigrations is the first minor at which no migration can be in progress: one ends with the
// switch, at 1.27 at the latest.
const afterMigrations = "v1.28"

// stops reports whether a component does not start with what makes it in-tree: its own
// argument, or a provider's name that RKE2 passes on.
func (m *migration) stops(at yamledit.Node) bool {
	return at.Key() != providerKey || !m.onlyNamesNodes()
}

// showsLeaderMigration reports whether a manager in the file takes part in a migration that
// began on an earlier release.
func (m *migration) showsLeaderMigration() bool {
	if chart, found, _ := m.chart(); found && chart.Migrates() {
		return true
	}
	if w, found := m.workload(); found && w.Migrates() {
		return true
	}
	return m.anyControlPlane(func(c effective.Config) bool { return args.Has(args.Of(c[managerArgs].Value), leaderFlag) })
}

// oldImage reports whether the last stage of a migration is left: it moves the image to the
// minor of the cluster.
func (m *migration) oldImage() bool {
	chart, _, err := m.chart()
	return err == nil && m.finalTag(chart) != ""
}

// keepsNamesAsExternal reports whether every machine takes the name of its node from the
// instance metadata with an external provider as well: the release has the argument, and
// every Rancher that knows the release lets it through to servers and agents alike.
func (m *migration) keepsNamesAsExternal() bool {
	return m.onlyNamesNodes() && !slices.ContainsFunc(m.Classes, func(c effective.Class) bool {
		_, passes := m.Release.Keep(c.Server(), nodeNameKey, true)
		return !passes
	})
}
