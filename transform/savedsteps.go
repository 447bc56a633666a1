// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Pick returns the plan of a cluster: the one that knows its documents, or else one
// that reports how they changed. Where one plan ends another one may begin: then it is the one that
// has something to apply, or with back to undo.
func Pick(plans []Saved, id Identity, docs []*yamledit.Document, back bool) (Saved, bool) {
	var found Saved
	most := 0
	for _, p := range plans {
		if !p.Cluster.Is(id) {
			continue
		}
		fits := 1
		if m, err := p.meet(docs); err == nil {
			fits = 2
			if back && m.begun() > 0 || !back && m.made() < len(m.edits) {
				fits = 3
			}
		}
		if fits > most {
			found, most = p, fits
		}
	}
	return found, most > 0
}

// SavedStep is one stage of a saved plan, applied to the documents or undone.
type SavedStep struct {
	Stage SavedStage
	After [][]byte // the documents after it, in the order in which they were given
}

// Forward returns the steps that apply a choice of stages to the documents; none
// when nothing is left to do. It fails with *Conflict for documents that the
// plan does not know, and when another stage comes first; with *ManualStagePending when
// that is one to be done by hand.
func (s Saved) Forward(docs []*yamledit.Document, c Choice) ([]SavedStep, error) {
	m, err := s.meet(docs)
	if err != nil {
		return nil, err
	}
	steps, err := m.choose(c)
	if err == nil {
		err = m.stages().first(docs[0].File(), savedNames(steps), c, s.Target.ManualDone)
	}
	if err != nil {
		return nil, err
	}
	return steps, nil
}

// choose makes the steps of a choice.
func (m meeting) choose(c Choice) ([]SavedStep, error) {
	made := m.made()
	if c.Next {
		return m.forward(made, min(made+1, len(m.edits)))
	}
	at, err := m.find(c.Stage)
	switch {
	case err != nil:
		return nil, err
	case at < made:
		return nil, nil
	case at > made && !c.Through:
		return nil, comesBefore(m.docs[0].File(), m.edits[made].Name, c.Stage)
	}
	return m.forward(made, at+1)
}

// Back returns the steps that undo a stage, and with through those after it, the
// last one first; none when nothing of it is in the documents. It fails as Forward
// does.
func (s Saved) Back(docs []*yamledit.Document, stage string, through bool) ([]SavedStep, error) {
	m, err := s.meet(docs)
	if err != nil {
		return nil, err
	}
	at, err := m.find(stage)
	begun := m.begun()
	switch {
	case err != nil:
		return nil, err
	case at < 0 || at >= begun:
		return nil, nil
	case at < begun-1 && !through:
		return nil, comesAfter(docs[0].File(), m.edits[begun-1].Name, stage)
	}
	return m.back(at, begun)
}

// meeting is a saved plan and the documents that it knows.
type meeting struct {
	plan  Saved
	docs  []*yamledit.Document
	edits []SavedStage // those that change a document
	met   []met        // for each document
}

// met is a document of a saved plan.
type met struct {
	doc      *yamledit.Document
	number   int     // in the plan
	last     int     // edit that is in it, the last one; -1 for none
	text     []byte  // as the plan has it
	now, was *Around // around the document today, and around the planned one
}

// meet finds out how far each document has come.
func (s Saved) meet(docs []*yamledit.Document) (meeting, error) {
	m := meeting{plan: s, docs: docs}
	for _, stage := range s.Stages {
		if stage.edits() {
			m.edits = append(m.edits, stage)
		}
	}
	free := len(s.sources())
	taken := make([]bool, free)
	for _, doc := range docs {
		known, ok := s.know(doc, m.edits, taken)
		if !ok {
			return m, &Conflict{doc.Root().Errorf(
				fmt.Sprintf("document %d (%s) has changed since it was planned", doc.Chunk().Index+1, s.Cluster.Title()), "plan it again with --out, and use that plan")}
		}
		taken[known.number] = true
		m.met = append(m.met, known)
	}
	if i := slices.Index(taken, false); i >= 0 {
		return m, &Conflict{docs[0].Root().Errorf(
			fmt.Sprintf("the plan of %s has one more document: document %d of %s", s.Cluster.Title(), s.sources()[i].Document+1, s.sources()[i].File), "name that file as well, a values file with --ccm-values")}
	}
	return m, nil
}

// know finds a document among those of the plan that are not taken yet.
func (s Saved) know(doc *yamledit.Document, edits []SavedStage, taken []bool) (met, bool) {
	for i, source := range s.sources() {
		if taken[i] || len(s.Stages) == 0 {
			continue
		}
		k := met{doc: doc, number: i, last: -1, text: doc.Bytes(), now: &Around{}, was: &Around{}}
		if source.Around != nil {
			start, end := doc.Content()
			k.was, k.now = source.Around, &Around{string(k.text[:start]), string(k.text[end:])}
			k.text = k.was.put(k.text[start:end])
		}
		sum := sum(k.text)
		if s.Stages[0].revision(i).Before == sum {
			return k, true
		}
		k.last = slices.IndexFunc(edits, func(e SavedStage) bool { r := e.revision(i); return len(r.Splices) > 0 && r.After == sum })
		if k.last >= 0 {
			return k, true
		}
	}
	return met{}, false
}

// made is how many edits are in all of their documents.
func (m meeting) made() int {
	for i, e := range m.edits {
		if slices.ContainsFunc(m.met, func(k met) bool { return len(e.revision(k.number).Splices) > 0 && k.last < i }) {
			return i
		}
	}
	return len(m.edits)
}

// stages are those of the plan, as far as the documents are now.
func (m meeting) stages() manuals {
	list, edits := slices.Clone(m.plan.Stages), 0
	for i, s := range list {
		if s.edits() && edits < m.made() {
			list[i].State = Done
			edits++
		}
	}
	return list
}

// begun is the number of the last edit that is in a document, plus one. It is more than
// made where a run was interrupted between two files.
func (m meeting) begun() int {
	last := -1
	for _, k := range m.met {
		last = max(last, k.last)
	}
	return last + 1
}

// find returns the place of a stage among the edits, or -1 for one that edits no
// document.
func (m meeting) find(name string) (int, error) {
	named := func(s SavedStage) bool { return s.Name == name }
	if !slices.ContainsFunc(m.plan.Stages, named) {
		return -1, fmt.Errorf("the saved plan of %s has no stage %s; use one of its runbook", m.plan.Cluster.Title(), name)
	}
	return slices.IndexFunc(m.edits, named), nil
}

// forward makes edits, in those of their documents that do not have them yet.
func (m meeting) forward(from, end int) ([]SavedStep, error) {
	var steps []SavedStep
	for i := from; i < end; i++ {
		for d := range m.met {
			k, r := &m.met[d], m.edits[i].revision(m.met[d].number)
			if k.last >= i {
				continue
			}
			if err := k.patch(r.Splices, r.After); err != nil {
				return nil, err
			}
		}
		steps = append(steps, SavedStep{m.edits[i], m.today()})
	}
	return steps, nil
}

// back takes edits back, from those of their documents that have them.
func (m meeting) back(first, begun int) ([]SavedStep, error) {
	var steps []SavedStep
	for i := begun - 1; i >= first; i-- {
		for d := range m.met {
			k, r := &m.met[d], m.edits[i].revision(m.met[d].number)
			if len(r.Reverse) == 0 || k.last < i {
				continue
			}
			if err := k.patch(r.Reverse, r.Before); err != nil {
				return nil, err
			}
		}
		steps = append(steps, SavedStep{m.edits[i], m.today()})
	}
	return steps, nil
}

// patch applies splices and requires the checksum that was planned.
func (k *met) patch(splices []yamledit.Splice, want string) (err error) {
	k.text, err = yamledit.Apply(k.text, splices)
	if _, whole := k.was.cut(k.text); err != nil || !whole || sum(k.text) != want {
		return &Conflict{k.doc.Root().Errorf("the saved plan does not result in the document that was planned, so plan.json was changed", "plan again with --out")}
	}
	return nil
}

// today returns the documents with what is around them now.
func (m meeting) today() [][]byte {
	texts := make([][]byte, len(m.met))
	for i, k := range m.met {
		content, _ := k.was.cut(k.text)
		texts[i] = k.now.put(content)
	}
	return texts
}
