// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	resource, root := p.Delivery(doc, "").Resource, doc.Root()
	name, _ := root.Get("metadata", "name").String()
	if namespace, _ := root.Get("metadata", "namespace").String(); namespace != "" {
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
