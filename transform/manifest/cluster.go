// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// cluster is the manifests of one cluster, of which each has its part in the stages.
// It has several; a single manifest is a *migration.
type cluster struct {
	*neighbours
	target transform.Target
}

func open(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	members, err := read(docs, target)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if err := m.checkProvider(); err != nil {
			return nil, err
		}
	}
	shown := managing(members)
	timed, err := stages.Cluster{Target: members[0].target, Electors: shown}.Timed(members[0].Root)
	for _, m := range members {
		m.electors, m.target.ShortLeases, m.target.ShortLeasesRefused = shown, timed.ShortLeases, timed.ShortLeasesRefused
	}
	return joined(members), err
}

// lint opens manifests for their findings, whatever their provider. One that cannot be
// read leaves what the others show.
func lint(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	members, err := read(docs, target)
	if len(members) == 0 {
		return nil, err
	}
	return joined(members), err
}

// read reads the manifests among documents; the others are seen next to them.
func read(docs []*yamledit.Document, target transform.Target) ([]*migration, error) {
	seen := &neighbours{}
	var errs []error
	for i, doc := range docs {
		if i > 0 && !IsManifest(doc) {
			seen.related = append(seen.related, doc)
			continue
		}
		m, err := Open(doc, target.AssumeVersion)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen.members = append(seen.members, &migration{Manifest: m, target: target, neighbours: seen})
	}
	if target.Situation == "" {
		target.Named = map[string]bool{Name: slices.ContainsFunc(seen.members, (*migration).inTree)}
	}
	target = target.In(situation(seen.members))
	before, _ := target.Before.(interface{ all() []*migration })
	for i, m := range seen.members {
		if m.target = target; before != nil && i < len(before.all()) {
			m.target.Before = before.all()[i]
		}
	}
	if len(errs) == 1 {
		return seen.members, errs[0]
	}
	return seen.members, errors.Join(errs...)
}

// neighbours are the documents of one cluster.
type neighbours struct {
	members []*migration
	related []*yamledit.Document // with permissions
}

// Manager implements transform.Cluster.
func (n *neighbours) Manager() yamledit.Node {
	if m, has := lists.Find(n.members, func(m *migration) bool { return m.Component == cloudManager }); has {
		return m.Root
	}
	return yamledit.Node{}
}

func (n *neighbours) all() []*migration { return n.members }

func joined(members []*migration) transform.Cluster {
	if len(members) == 1 {
		return members[0]
	}
	return &cluster{members[0].neighbours, members[0].target}
}

// Chosen implements transform.Cluster.
func (c *cluster) Chosen() transform.Target { return c.target }

// Identity implements transform.Cluster: the first document names the cluster.
func (c *cluster) Identity() transform.Identity { return c.members[0].Identity() }

// Documents implements transform.Cluster.
func (c *cluster) Documents() []*yamledit.Document {
	return lists.Map(c.members, func(m *migration) *yamledit.Document { return m.Doc })
}

// Findings implements transform.Cluster.
func (c *cluster) Findings(stage string) []transform.Finding {
	return slices.Concat(lists.Map(c.members, func(m *migration) []transform.Finding { return m.Findings(stage) })...)
}
