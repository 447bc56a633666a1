// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Pick returns the plan of a cluster: the one that knows its documents, or else one
// that reports how they changed. Where one plan ends another one may begin: then it is the one that
// has something to apply, or with back to undo.
func Pick(plans []Saved, id transform.Identity, docs []*yamledit.Document, back bool) (Saved, bool) {
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

// Open returns the plan as far as the documents are: what is in all of them is done, and the splices of the
// plan lead through the other stages. It fails with *Conflict for documents that the plan does not
// know, and where they lead to other documents than were planned.
func (s Saved) Open(docs []*yamledit.Document) (*Plan, error) {
	m, err := s.meet(docs)
	if err != nil {
		return nil, err
	}
	p := &Plan{Cluster: s.Cluster, Target: s.Target, Start: docs}
	made, edit := m.made(), 0
	for _, step := range s.Steps {
		edits := step.Changes()
		step.Documents = unchanged(p.End())
		if edits {
			if edit < made {
				step.State = Done
			} else if step.Documents, err = m.forward(edit); err != nil {
				return nil, err
			}
			edit++
		}
		p.Steps = append(p.Steps, step)
	}
	p.count()
	return p, nil
}

// Undo returns the steps that undo a stage, and with through those after it, the
// last one first; none when nothing of it is in the documents. It fails as Open
// does, and with *Conflict where a later stage comes first.
func (s Saved) Undo(docs []*yamledit.Document, stage string, through bool) ([]Step, error) {
	m, err := s.meet(docs)
	if err != nil {
		return nil, err
	}
	named := func(s Step) bool { return s.Stage.Name == stage }
	at, begun := slices.IndexFunc(m.edits, named), m.begun()
	switch {
	case !slices.ContainsFunc(s.Steps, named):
		return nil, notAmong(stage)
	case at < 0 || at >= begun:
		return nil, nil
	case at < begun-1 && !through:
		return nil, comesAfter(docs[0].File(), m.edits[begun-1].Stage.Name, stage)
	}
	var steps []Step
	for i := begun - 1; i >= at; i-- {
		step := m.edits[i]
		step.State, step.Findings = Done, nil
		if step.Documents, err = m.back(i); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// meeting is a saved plan and the documents that it knows.
type meeting struct {
	edits []Step // those that change a document
	met   []met  // for each document
}

// met is a document of a saved plan.
type met struct {
	doc      *yamledit.Document
	number   int    // in the plan
	last     int    // edit that is in it, the last one; -1 for none
	now, was Around // around the document today, and around the planned one
}

// meet finds out how far each document has come.
func (s Saved) meet(docs []*yamledit.Document) (meeting, error) {
	m := meeting{edits: lists.Where(s.Steps, Step.Changes)}
	taken := make([]bool, len(s.sources()))
	for _, doc := range docs {
		known, ok := s.know(doc, m.edits, taken)
		if !ok {
			return m, &transform.Conflict{At: doc.Root().Errorf(
				fmt.Sprintf("document %d (%s) has changed since it was planned", doc.Chunk().Index+1, s.Cluster.Title()), "plan it again with --out, and use that plan")}
		}
		taken[known.number] = true
		m.met = append(m.met, known)
	}
	if i := slices.Index(taken, false); i >= 0 {
		return m, &transform.Conflict{At: docs[0].Root().Errorf(
			fmt.Sprintf("the plan of %s has one more document: document %d of %s", s.Cluster.Title(), s.sources()[i].Document+1, s.sources()[i].File), "name that file as well, a values file with --ccm-values")}
	}
	return m, nil
}

// know finds a document among those of the plan that are not taken yet.
func (s Saved) know(doc *yamledit.Document, edits []Step, taken []bool) (met, bool) {
	for i, source := range s.sources() {
		if taken[i] || len(s.Steps) == 0 {
			continue
		}
		k := met{doc: doc, number: i, last: -1}
		if source.Around != nil {
			k.was, k.now = *source.Around, aroundOf(doc)
		}
		sum, _ := k.sum(doc.Bytes())
		if s.Steps[0].Documents[i].BeforeSum == sum {
			return k, true
		}
		k.last = slices.IndexFunc(edits, func(e Step) bool { r := e.Documents[i]; return r.Changes() && r.AfterSum == sum })
		if k.last >= 0 {
			return k, true
		}
	}
	return met{}, false
}

// made is how many edits are in all of their documents.
func (m meeting) made() int {
	for i, e := range m.edits {
		if slices.ContainsFunc(m.met, func(k met) bool { return e.Documents[k.number].Changes() && k.last < i }) {
			return i
		}
	}
	return len(m.edits)
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

// forward makes an edit, in those of its documents that do not have it yet.
func (m meeting) forward(edit int) ([]Revision, error) {
	return m.revise(edit, func(k met) bool { return k.last < edit }, func(r Revision) ([]yamledit.Splice, string) { return r.Splices, r.AfterSum })
}

// back takes an edit back, from those of its documents that have it.
func (m meeting) back(edit int) ([]Revision, error) {
	return m.revise(edit, func(k met) bool { return k.last >= edit }, func(r Revision) ([]yamledit.Splice, string) { return r.Reverse, r.BeforeSum })
}

// revise applies splices of a planned edit to some documents, which have to result in the checksum that was planned.
func (m meeting) revise(edit int, changes func(met) bool, of func(Revision) ([]yamledit.Splice, string)) ([]Revision, error) {
	var revised []Revision
	for i := range m.met {
		k := &m.met[i]
		r := Revision{Before: k.doc, After: k.doc}
		splices, want := of(m.edits[edit].Documents[k.number])
		if changes(*k) && len(splices) > 0 {
			var err error
			if r, err = k.apply(splices, want); err != nil {
				return nil, err
			}
			k.doc = r.After
		}
		revised = append(revised, r)
	}
	return revised, nil
}

func (k met) apply(splices []yamledit.Splice, want string) (Revision, error) {
	by := len(k.now.Before) - len(k.was.Before)
	r := Revision{Before: k.doc, Splices: lists.Map(splices, func(s yamledit.Splice) yamledit.Splice {
		return yamledit.Splice{Start: s.Start + by, End: s.End + by, New: s.New}
	})}
	chunk := k.doc.Chunk()
	text, err := yamledit.Apply(chunk.Bytes, r.Splices)
	if got, whole := k.sum(text); err != nil || !whole || got != want {
		return r, &transform.Conflict{At: k.doc.Root().Errorf("the saved plan does not result in the document that was planned, so plan.json was changed", "plan again with --out")}
	}
	if r.Reverse, err = yamledit.Reverse(chunk.Bytes, r.Splices); err != nil {
		return r, err
	}
	chunk.Bytes = text
	r.After, err = yamledit.Parse(chunk)
	return r, err
}

// sum is the checksum of a text with what was around the planned document, if it has around it what is there now.
func (k met) sum(text []byte) (string, bool) {
	content, whole := k.now.cut(text)
	return sum(slices.Concat([]byte(k.was.Before), content, []byte(k.was.After))), whole
}
