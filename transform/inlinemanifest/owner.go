// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package inlinemanifest

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/ruleset"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Finding returns a finding about a node of manifest i, with the way to it from the
// cluster's own root.
func (b Bundle) Finding(i int, n yamledit.Node, message, fix string) transform.Finding {
	f := transform.FindingAt(n, message, fix)
	path := fmt.Sprintf("%s[%d]", b.At().Path(), i)
	if f.Path != "" {
		path += "." + f.Path
	}
	f.Path = path
	return f
}

// SecondOwner finds a cloud-controller-manager that the manifests run without the
// chart and without leader migration.
func (b Bundle) SecondOwner() []transform.Finding {
	docs, err := b.Documents()
	if err != nil {
		return nil
	}
	w, found := ccm.FindWorkload(docs)
	if !found || w.Migrates() {
		return nil
	}
	return []transform.Finding{b.Finding(w.Index, w.Container, ruleset.TwoOwners, "add --"+ccm.LeaderFlag+"=true to its arguments, or remove it")}
}

// UnsafeArgs finds arguments that end a cloud-controller-manager which the manifests
// run without the chart.
func (b Bundle) UnsafeArgs() []transform.Finding {
	docs, err := b.Documents()
	if err != nil {
		return nil
	}
	w, found := ccm.FindWorkload(docs)
	if !found {
		return nil
	}
	var list []transform.Finding
	add := func(said ruleset.Said) {
		list = append(list, b.Finding(w.Index, w.Container, said.Message, said.Fix))
	}
	if w.RoutesUnsafe() {
		add(ruleset.SaidOfRoutes)
	}
	if w.WrongProvider() {
		add(ruleset.SaidOfProvider)
	}
	return list
}
