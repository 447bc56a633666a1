// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Saved is a plan as it is kept: what leads a document from one stage to the
// next and back, byte for byte, and the checksum at each point of the way.
//
// It holds pieces of the document, secrets among them.
type Saved struct {
	Cluster Identity     `json:"cluster"`
	Source  SavedSource  `json:"source"`
	Target  Target       `json:"target"`
	Stages  []SavedStage `json:"stages"`
}

// SavedSource is where the cluster was found. It is for people: a document is
// known by its cluster and its checksum.
type SavedSource struct {
	File     string  `json:"file"`             // as given
	Path     string  `json:"path,omitempty"`   // absolute; none for a stream
	Document int     `json:"document"`         // 0-based
	Item     *int    `json:"item,omitempty"`   // of a list of objects, 0-based
	Around   *Around `json:"around,omitempty"` // nil where the document is taken as a whole
}

// Around is what stood around a document's own content: markers, which depend on
// the documents beside it, and comments. A plan does not depend on either.
type Around struct {
	Front  string `json:"front"`
	Behind string `json:"behind"`
}

// SavedStage is a stage of a saved plan. Before and After are SHA-256 sums of the
// cluster's document; they are equal where the stage does not edit it.
type SavedStage struct {
	Name     string            `json:"name"`
	State    State             `json:"state"`
	Before   string            `json:"before"`
	After    string            `json:"after"`
	Splices  []yamledit.Splice `json:"splices"`
	Reverse  []yamledit.Splice `json:"reverse"`
	Findings []Finding         `json:"findings"`
	// AfterByHand are the stages that somebody does by hand before this one; Steps and
	// Check are what is done by hand for a stage of actions alone.
	AfterByHand []string      `json:"afterByHand,omitempty"`
	Steps       []Instruction `json:"steps,omitempty"`
	Check       []Instruction `json:"check,omitempty"`
}

// Save returns the plan as it is kept. path is the absolute path of its file.
func (p *Plan) Save(path string) Saved {
	s := Saved{
		Cluster: p.Cluster, Target: p.Target,
		Source: SavedSource{File: p.Start.File(), Path: path, Document: p.Start.Chunk().Index, Item: p.Start.Chunk().ItemIndex()},
	}
	s.Source.Around = p.around()
	for _, step := range p.Steps {
		kept := step.manual()
		kept.Before, kept.After = sum(step.Before.Bytes()), sum(step.After.Bytes())
		kept.Splices, kept.Reverse = append([]yamledit.Splice{}, step.Splices...), append([]yamledit.Splice{}, step.Reverse...)
		kept.Findings = append([]Finding{}, step.Findings...)
		s.Stages = append(s.Stages, kept)
	}
	return s
}

// around returns what stands around the document's content, if no stage touches
// it.
func (p *Plan) around() *Around {
	text := p.Start.Bytes()
	start, end := p.Start.Content()
	a := &Around{Front: string(text[:start]), Behind: string(text[end:])}
	for _, step := range p.Steps {
		if !a.fits(step.After) {
			return nil
		}
	}
	return a
}

// fits reports whether the same stands around a document's content. A comment of
// what went at its end stands behind the content.
func (a *Around) fits(doc *yamledit.Document) bool {
	text := doc.Bytes()
	start, end := doc.Content()
	return string(text[:start]) == a.Front && string(text[end:]) == a.Behind
}

// cut takes away what stands around a content.
func (a *Around) cut(text []byte) ([]byte, bool) {
	if len(text) < len(a.Front)+len(a.Behind) || !bytes.HasPrefix(text, []byte(a.Front)) || !bytes.HasSuffix(text, []byte(a.Behind)) {
		return nil, false
	}
	return text[len(a.Front) : len(text)-len(a.Behind)], true
}

// put puts it there.
func (a *Around) put(content []byte) []byte {
	return slices.Concat([]byte(a.Front), content, []byte(a.Behind))
}

// Pick returns the plan of a cluster: the one that knows its document, or else one
// that says how it changed.
func Pick(plans []Saved, id Identity, doc *yamledit.Document) (Saved, bool) {
	var found Saved
	ok := false
	for _, p := range plans {
		if !p.Cluster.Is(id) {
			continue
		}
		if _, err := p.meet(doc); err == nil {
			return p, true
		}
		if !ok {
			found, ok = p, true
		}
	}
	return found, ok
}

// SavedStep is one stage of a saved plan, applied to a document or undone.
type SavedStep struct {
	Stage SavedStage
	After []byte // the document behind it
}

// Forward returns the moves that apply a choice of stages to a document; none
// when nothing is left to do. It fails with *Conflict for a document that the
// plan does not know, and when another stage comes first; with *ManualFirst when
// that is one to be done by hand.
func (s Saved) Forward(doc *yamledit.Document, c Choice) ([]SavedStep, error) {
	m, err := s.meet(doc)
	if err != nil {
		return nil, err
	}
	moves, err := m.choose(c)
	if err == nil {
		err = manuals(s.Stages).first(doc.File(), moved(moves), c)
	}
	if err != nil {
		return nil, err
	}
	return moves, nil
}

// choose makes the moves of a choice.
func (m meeting) choose(c Choice) ([]SavedStep, error) {
	if c.Next {
		return m.forward(min(m.made+1, len(m.edits)))
	}
	at, err := m.find(c.Stage)
	switch {
	case err != nil:
		return nil, err
	case at < m.made:
		return nil, nil
	case at > m.made && !c.Through:
		return nil, comesBefore(m.doc.File(), m.edits[m.made].Name, c.Stage)
	}
	return m.forward(at + 1)
}

// Back returns the moves that undo a stage, and with through those behind it, the
// last one first; none when nothing of it is in the document. It fails as Forward
// does.
func (s Saved) Back(doc *yamledit.Document, stage string, through bool) ([]SavedStep, error) {
	m, err := s.meet(doc)
	if err != nil {
		return nil, err
	}
	at, err := m.find(stage)
	switch {
	case err != nil:
		return nil, err
	case at < 0 || at >= m.made:
		return nil, nil
	case at < m.made-1 && !through:
		return nil, comesAfter(doc.File(), m.edits[m.made-1].Name, stage)
	}
	return m.back(at)
}

// meeting is a saved plan and a document that it knows.
type meeting struct {
	plan     Saved
	doc      *yamledit.Document
	edits    []SavedStage // those that change the document
	made     int          // how many of them are in it
	text     []byte       // the document as the plan has it
	now, was *Around      // around the document today, and around the planned one
}

// meet finds out how far a document has come.
func (s Saved) meet(doc *yamledit.Document) (meeting, error) {
	m := meeting{plan: s, doc: doc, text: doc.Bytes(), now: &Around{}, was: &Around{}}
	if s.Source.Around != nil {
		start, end := doc.Content()
		m.was, m.now = s.Source.Around, &Around{string(m.text[:start]), string(m.text[end:])}
		m.text = m.was.put(m.text[start:end])
	}
	for _, stage := range s.Stages {
		if len(stage.Splices) > 0 {
			m.edits = append(m.edits, stage)
		}
	}
	sum := sum(m.text)
	if len(s.Stages) > 0 && s.Stages[0].Before == sum {
		return m, nil
	}
	i := slices.IndexFunc(m.edits, func(e SavedStage) bool { return e.After == sum })
	if i < 0 {
		return m, &Conflict{doc.Root().Errorf(
			fmt.Sprintf("document %d (%s) has changed since it was planned", doc.Chunk().Index+1, s.Cluster.Title()), "plan it again with --out, and use that plan")}
	}
	m.made = i + 1
	return m, nil
}

// find returns the place of a stage among the edits, or -1 for one that does not
// edit the document.
func (m meeting) find(name string) (int, error) {
	named := func(s SavedStage) bool { return s.Name == name }
	if !slices.ContainsFunc(m.plan.Stages, named) {
		return -1, fmt.Errorf("the saved plan of %s has no stage %s; use one of its runbook", m.plan.Cluster.Title(), name)
	}
	return slices.IndexFunc(m.edits, named), nil
}

// forward makes the edits up to one.
func (m meeting) forward(end int) ([]SavedStep, error) {
	var moves []SavedStep
	for _, s := range m.edits[m.made:end] {
		if err := m.patch(s.Splices, s.After); err != nil {
			return nil, err
		}
		moves = append(moves, SavedStep{s, m.today()})
	}
	return moves, nil
}

// back takes the edits from one on back.
func (m meeting) back(first int) ([]SavedStep, error) {
	var moves []SavedStep
	for _, s := range slices.Backward(m.edits[first:m.made]) {
		if err := m.patch(s.Reverse, s.Before); err != nil {
			return nil, err
		}
		moves = append(moves, SavedStep{s, m.today()})
	}
	return moves, nil
}

// patch applies splices and requires the checksum that was planned.
func (m *meeting) patch(splices []yamledit.Splice, want string) (err error) {
	m.text, err = yamledit.Apply(m.text, splices)
	if _, whole := m.was.cut(m.text); err != nil || !whole || sum(m.text) != want {
		return &Conflict{m.doc.Root().Errorf("the saved plan does not result in the document that was planned, so plan.json was changed", "plan again with --out")}
	}
	return nil
}

// today returns the document with what stands around it now.
func (m *meeting) today() []byte {
	content, _ := m.was.cut(m.text)
	return m.now.put(content)
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
