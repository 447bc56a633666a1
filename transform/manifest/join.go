// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Stages implements transform.Cluster: each is one stage over all documents, so the
// order holds between them.
func (c *cluster) Stages() []transform.Listed {
	each := lists.Map(c.members, (*migration).Stages)
	joined := make([]transform.Listed, len(each[0]))
	for i, s := range each[0] {
		joined[i] = transform.List(s.Name, func() transform.Stage { return c.stage(each, i) })
	}
	return joined
}

// share is the part of a document in a stage.
type share struct {
	transform.Stage
	member int
}

// stage joins what the documents have of stage i. Those that edit nothing in it only
// refer to the others.
func (c *cluster) stage(each [][]transform.Listed, i int) transform.Stage {
	var shares []share
	for member, list := range each {
		if s := list[i].Stage(); s.Edit != nil {
			shares = append(shares, share{s, member})
		}
	}
	if len(shares) == 0 {
		return each[0][i].Stage()
	}
	s := shares[0].Stage
	s.Why = c.why(shares)
	s.Edit = editAll(shares, func(s transform.Stage) func() (*yamledit.Edit, error) { return s.Edit })
	s.Undo = editAll(shares, func(s transform.Stage) func() (*yamledit.Edit, error) { return s.Undo })
	s.Check = transform.CheckBy(func(after *cluster) error {
		for _, part := range shares {
			if err := part.Check(after.members[part.member]); err != nil {
				return err
			}
		}
		return nil
	})
	manual := lists.Flat(shares, func(part share) []string { return part.AfterManual })
	s.AfterManual = lists.Where(manual, func(stage string) bool { return !c.plans(stage) })
	s.Before = c.actions(shares, func(s transform.Stage) []action.Action { return s.Before })
	s.After = c.actions(shares, func(s transform.Stage) []action.Action { return s.After })
	s.Verify = c.actions(shares, func(s transform.Stage) []action.Action { return s.Verify })
	s.UndoBefore = c.actions(shares, func(s transform.Stage) []action.Action { return s.UndoBefore })
	s.UndoAfter = c.actions(shares, func(s transform.Stage) []action.Action { return s.UndoAfter })
	s.Files = filesOf(shares)
	return s
}

// plans reports whether a stage, which a single document takes for one done by hand,
// shows in the documents.
func (c *cluster) plans(stage string) bool {
	return stage == stages.InstallCCM && c.Manager().Exists()
}

// why says it for each component once.
func (c *cluster) why(shares []share) string {
	var components, whys []string
	for _, part := range shares {
		if component := c.members[part.member].Component; !slices.Contains(components, component) {
			components, whys = append(components, component), append(whys, part.Why)
		}
	}
	return strings.Join(whys, " ")
}

// editAll makes one edit of those of the documents.
func editAll(shares []share, of func(transform.Stage) func() (*yamledit.Edit, error)) func() (*yamledit.Edit, error) {
	return func() (*yamledit.Edit, error) {
		var all *yamledit.Edit
		for _, part := range shares {
			edit, err := of(part.Stage)()
			switch {
			case err != nil:
				return nil, err
			case all == nil:
				all = edit
			default:
				all = all.With(edit)
			}
		}
		return all, nil
	}
}

// actions are those of all documents, each command once. Where kubeadm's configuration
// is one of the documents, nothing refers to it.
func (c *cluster) actions(shares []share, of func(transform.Stage) []action.Action) []action.Action {
	var all []action.Action
	for _, part := range shares {
		for _, a := range of(part.Stage) {
			known := slices.ContainsFunc(all, func(b action.Action) bool { return b.Command == a.Command })
			if !known && !(a.Command == action.KubeadmSource().Command && c.configures()) {
				all = append(all, a)
			}
		}
	}
	return all
}

// configures reports whether kubeadm's configuration is one of the documents.
func (c *cluster) configures() bool {
	return slices.ContainsFunc(c.members, func(m *migration) bool { return m.Kind == kindConfiguration })
}

// filesOf are those of all documents, each name once.
func filesOf(shares []share) func() ([]action.File, error) {
	return func() ([]action.File, error) {
		var all []action.File
		for _, part := range shares {
			if part.Files == nil {
				continue
			}
			files, err := part.Files()
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				if !slices.ContainsFunc(all, func(g action.File) bool { return g.Name == f.Name }) {
					all = append(all, f)
				}
			}
		}
		return all, nil
	}
}
