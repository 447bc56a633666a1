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
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
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
	Upgrade string `json:"upgrade,omitempty"`
	Steps   []Step `json:"stages"`
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

// savedStep is the JSON of a step.
type savedStep struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Revision
	Others   []Revision          `json:"others,omitempty"` // of the other documents, as in Saved
	Findings []transform.Finding `json:"findings"`
	Caution  string              `json:"caution,omitempty"` // about its undo
	// Manual means that the stage has an action whose result no document shows; Steps and
	// Check are what is done by hand for a stage of actions alone.
	Manual bool            `json:"manual,omitempty"`
	Steps  []action.Action `json:"steps,omitempty"`
	Check  []action.Action `json:"check,omitempty"`
}

// MarshalJSON writes what a saved plan keeps of a step: what leads forward and back, and
// what people do.
func (s Step) MarshalJSON() ([]byte, error) {
	if len(s.Documents) == 0 {
		return nil, fmt.Errorf("%s has no documents", s.Stage.Name)
	}
	out := savedStep{Name: s.Stage.Name, State: s.State, Caution: s.Stage.Caution, Manual: s.Manual, Revision: s.Documents[0], Others: s.Documents[1:], Findings: append([]transform.Finding{}, s.Findings...)}
	if s.State == ActionOnly || s.Manual {
		out.Steps, out.Check = s.Stage.After, s.Stage.Verify
	}
	return []byte(yamledit.JSON(out)), nil // the encoder around decides what is escaped
}

// UnmarshalJSON reads what MarshalJSON wrote. Of the documents there are the checksums.
func (s *Step) UnmarshalJSON(text []byte) error {
	var in savedStep
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*s = Step{
		Stage: transform.Stage{Name: in.Name, Caution: in.Caution, After: in.Steps, Verify: in.Check},
		State: in.State, Manual: in.Manual, Findings: in.Findings, Documents: append([]Revision{in.Revision}, in.Others...),
	}
	return nil
}

// Loses reports what is lost if another plan of the cluster takes the place of this one; "" for nothing.
func (s Saved) Loses(by Saved) string {
	a, _ := json.Marshal(s.Target) // of texts alone
	b, _ := json.Marshal(by.Target)
	if !bytes.Equal(a, b) {
		return "its plan was made with other choices"
	}
	for _, was := range s.Steps {
		if was.Changes() && !slices.ContainsFunc(by.Steps, func(o Step) bool { return o.Stage.Name == was.Stage.Name && o.Changes() }) {
			return was.Stage.Name + " is done, and only its plan undoes it to the same bytes"
		}
	}
	return ""
}

// sources are those of all documents.
func (s Saved) sources() []SavedSource { return append([]SavedSource{s.Source}, s.Others...) }

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
		kept := step.Shown()
		kept.Documents = lists.Map(step.Documents, Revision.summed)
		s.Steps = append(s.Steps, kept)
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

// Patches are JSON patches, for kubectl, that take an object from before a stage to
// after it and back. They hold the values that the stage changes and those that their
// test operations compare, which may be secrets.
type Patches struct {
	Do   []byte
	Undo []byte // nil where the undo does not go to the cluster
}

// Patches returns the patches of a step for one document that is an object that kubectl
// printed. Its resourceVersion is that of one moment, so the server takes the document
// once, and a patch after each stage. Other documents have no patches. Patches fails
// where no test operation can guard the change.
func (p *Plan) Patches(s Step, r Revision) (Patches, error) {
	if !r.Changes() || !p.printed(r.Before) {
		return Patches{}, nil
	}
	do, err := patchFile(r.Before, r.After)
	if err != nil || s.Stage.Withdrawn {
		return Patches{Do: do}, err
	}
	undo, err := patchFile(r.After, r.Before)
	if err != nil {
		return Patches{}, err
	}
	return Patches{do, undo}, nil
}

// PatchCommand sends a file of Patches to the object.
func (p *Plan) PatchCommand(doc *yamledit.Document, file string) string {
	resource, name := p.Delivery(doc, "").Resource, doc.Root().StringAt("metadata", "name")
	if namespace := doc.Root().StringAt("metadata", "namespace"); namespace != "" {
		return action.Command("kubectl -n %s patch %s/%s --type=json --patch-file %s", namespace, resource, name, file)
	}
	return action.Command("kubectl patch %s/%s --type=json --patch-file %s", resource, name, file)
}

// printed reports whether an API server has the document, and kubectl printed it.
func (p *Plan) printed(doc *yamledit.Document) bool {
	metadata := doc.Root().Get("metadata")
	return p.Delivery(doc, "").Resource != "" && metadata.StringAt("uid")+metadata.StringAt("resourceVersion") != ""
}

// patchFile makes a patch with an operation on a few lines of its own. <, > and & are
// escaped as API servers write them, for they compare texts.
func patchFile(before, after *yamledit.Document) ([]byte, error) {
	p, err := jsonpatch.Diff(before.Root().JSON(), after.Root().JSON())
	if err != nil {
		return nil, err
	}
	lines, err := json.MarshalIndent(json.RawMessage(p.Bytes()), "", "  ")
	return append(lines, '\n'), err
}
