// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Saved is a plan as it is kept: what leads the documents of a cluster from one stage
// to the next and back, byte for byte, with the checksum of each document before and
// after each stage.
//
// It holds pieces of the documents, secrets among them.
type Saved struct {
	Cluster transform.Identity `json:"cluster"`
	Source  SavedSource        `json:"source"`
	Others  []SavedSource      `json:"others,omitempty"` // of the other documents of the cluster
	Target  transform.Target   `json:"target"`
	// Upgrade is the release that the plan moves a migrated cluster to; "" for the plan of a
	// migration.
	Upgrade string       `json:"upgrade,omitempty"`
	Stages  []SavedStage `json:"stages"`
}

// SavedSource is where a document was found. It is for people: a document is
// known by its cluster and its checksum.
type SavedSource struct {
	File     string  `json:"file"`             // as given
	Path     string  `json:"path,omitempty"`   // absolute; none for a stream
	Document int     `json:"document"`         // 0-based
	Item     *int    `json:"item,omitempty"`   // of a list of objects, 0-based
	Around   *Around `json:"around,omitempty"` // nil where the document is taken as a whole
}

// Around is what was around a document's own content: markers, which depend on
// the documents next to it, and comments. A plan does not depend on either.
type Around struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// SavedStage is a stage of a saved plan.
type SavedStage struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	SavedRevision
	Others   []SavedRevision     `json:"others,omitempty"` // of the other documents, as in Saved
	Findings []transform.Finding `json:"findings"`
	Caution  string              `json:"caution,omitempty"` // about its undo
	// Manual means that the stage has an action whose result no document shows; Steps and
	// Check are what is done by hand for a stage of actions alone.
	Manual bool            `json:"manual,omitempty"`
	Steps  []action.Action `json:"steps,omitempty"`
	Check  []action.Action `json:"check,omitempty"`
}

// SavedRevision is what a stage makes of one document. Before and After are SHA-256
// sums; they are equal where the stage does not edit it.
type SavedRevision struct {
	Before  string            `json:"before"`
	After   string            `json:"after"`
	Splices []yamledit.Splice `json:"splices"`
	Reverse []yamledit.Splice `json:"reverse"`
}

// Loses reports what is lost if another plan of the cluster takes the place of this one; "" for nothing.
func (s Saved) Loses(by Saved) string {
	a, _ := json.Marshal(s.Target) // of texts alone
	b, _ := json.Marshal(by.Target)
	if !bytes.Equal(a, b) {
		return "its plan was made with other choices"
	}
	for _, was := range s.Stages {
		if was.edits() && !slices.ContainsFunc(by.Stages, func(o SavedStage) bool { return o.Name == was.Name && o.edits() }) {
			return was.Name + " is done, and only its plan undoes it to the same bytes"
		}
	}
	return ""
}

// sources are those of all documents.
func (s Saved) sources() []SavedSource { return append([]SavedSource{s.Source}, s.Others...) }

// revision is that of document i.
func (s SavedStage) revision(i int) SavedRevision {
	if i == 0 {
		return s.SavedRevision
	}
	return s.Others[i-1]
}

// edits reports whether the stage changes a document.
func (s SavedStage) edits() bool {
	return len(s.Splices) > 0 || slices.ContainsFunc(s.Others, func(r SavedRevision) bool { return len(r.Splices) > 0 })
}

// Save returns the plan as it is kept. paths are the absolute paths of the documents'
// files; "" for a stream.
func (p *Plan) Save(paths ...string) Saved {
	s := Saved{Cluster: p.Cluster, Target: p.Target}
	if p.Target.Upgrades() {
		s.Upgrade = p.Target.Version
	}
	var sources []SavedSource
	for i, doc := range p.Start {
		path := ""
		if i < len(paths) {
			path = paths[i]
		}
		sources = append(sources, SavedSource{File: doc.File(), Path: path, Document: doc.Chunk().Index, Item: doc.Chunk().ItemIndex(), Around: p.around(i)})
	}
	s.Source, s.Others = sources[0], sources[1:]
	for _, step := range p.Steps {
		kept := SavedStage{Name: step.Stage.Name, State: step.State, Caution: step.Stage.Caution, Manual: step.Manual}
		if step.State == ActionOnly || step.Manual {
			kept.Steps, kept.Check = step.Stage.After, step.Stage.Verify
		}
		revisions := lists.Map(step.Documents, func(r Revision) SavedRevision {
			return SavedRevision{
				Before: sum(r.Before.Bytes()), After: sum(r.After.Bytes()),
				Splices: append([]yamledit.Splice{}, r.Splices...), Reverse: append([]yamledit.Splice{}, r.Reverse...),
			}
		})
		kept.SavedRevision, kept.Others = revisions[0], revisions[1:]
		kept.Findings = append([]transform.Finding{}, step.Findings...)
		s.Stages = append(s.Stages, kept)
	}
	return s
}

// around returns what is around the content of document i, if no stage touches
// it. A comment of what was removed from the end is after the content.
func (p *Plan) around(i int) *Around {
	a := aroundOf(p.Start[i])
	for _, step := range p.Steps {
		if aroundOf(step.Documents[i].After) != a {
			return nil
		}
	}
	return &a
}

func aroundOf(doc *yamledit.Document) Around {
	text := doc.Bytes()
	start, end := doc.Content()
	return Around{string(text[:start]), string(text[end:])}
}

// cut removes what is around a content.
func (a Around) cut(text []byte) ([]byte, bool) {
	if len(text) < len(a.Before)+len(a.After) || !bytes.HasPrefix(text, []byte(a.Before)) || !bytes.HasSuffix(text, []byte(a.After)) {
		return nil, false
	}
	return text[len(a.Before) : len(text)-len(a.After)], true
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
