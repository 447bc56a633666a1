// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Cluster is the documents that describe one cluster, and where they are from.
type Cluster struct {
	Distro  transform.Distro
	Docs    []*yamledit.Document // the one that names the cluster first
	Related []*yamledit.Document // that rules read
	Sources []source.Source      // for each of Docs
	Live    *Live                // nil for files
	Patch   bool                 // of a kustomization or an overlay of Fleet, and no cluster of its own
	Uses    []kustomize.Use      // what overlays make of Docs
	// overlaid refuses a document that kustomizations or Fleet change; nil for others.
	overlaid error
	// twin is another place that describes the cluster, which may be applied together; "" for none.
	twin     string
	together bool

	// unread refuses documents where another one, which may be of the same cluster, could
	// not be read; nil for others.
	unread error
}

// Refusal is what keeps a cluster from being planned, unless the operator accepts it.
func (c Cluster) Refusal(t transform.Target) error {
	if c.unread != nil {
		return c.unread
	}
	err, accepted := c.Refused(t)
	if accepted {
		return nil
	}
	return err
}

// Refused is what places next to a cluster make of it: the first that the operator does not accept,
// or else one that is accepted.
func (c Cluster) Refused(t transform.Target) (err error, accepted bool) {
	if c.together {
		err, accepted = c.described(), slices.Contains(t.Accept, rules.DuplicateCluster.ID)
	}
	if c.overlaid != nil && (err == nil || accepted) {
		err, accepted = c.overlaid, slices.Contains(t.Accept, rules.ChangedByOverlay.ID)
	}
	return err, accepted
}

func (c Cluster) described() *transform.Refused {
	return rules.Described(c.Docs[0], c.Distro.Identify(c.Docs[0]), c.twin)
}

// Work is called for every cluster. What it returns shows the result, and is called in
// the order of the documents.
type Work func(Cluster) (show func() error, err error)

// piece is a document of a source, or its end.
type piece struct {
	source source.Source
	number int // of the source
	chunk  yamledit.Chunk
	words  bool // the text has words of what is looked for
	marked bool // it is a document of a distro, or meant for one and cannot be read
	end    bool
	text   source.Text // at the end: all of it, if it has documents that were parsed
	empty  bool        // at the end: it has no text
	saved  *Saved      // at the end: it is a file of a saved plan; nil for others
	count  int         // at the end: of its documents
	err    error       // of the source, at the end
}

// place names the document in messages.
func (p piece) place() string {
	switch {
	case p.chunk.Item > 0:
		return fmt.Sprintf("%s:%d: item %d", p.chunk.File, p.chunk.Line+1, p.chunk.Item)
	case p.chunk.Index == 0:
		return p.chunk.File
	}
	return fmt.Sprintf("%s:%d: document %d", p.chunk.File, p.chunk.Line+1, p.chunk.Index+1)
}

// Saved is a file that the plan.json in its folder lists with the sum of its content.
type Saved struct {
	source.Text
	Plan transform.Saved
}

// Result is what came of a cluster, or the end of sources.
type Result struct {
	Form  forms.Found // what a document has in a form that is not read
	Saved []*Saved    // files of saved plans, which are read as no clusters

	// Ended are the sources that end here, together where one cluster has documents in
	// them. An error that concerns no source ends one without a name.
	Ended []source.Text

	piece
	cluster bool
	of      *Cluster           // that it names, or that it may be one of several documents of
	known   names              // that it is known by
	seen    *yamledit.Document // one that rules read
	values  *yamledit.Document // one of a values file
	show    func() error       // what is left to do, in the order of the documents
}

// File names the source.
func (r Result) File() string { return r.source.Name }

// Err is what went wrong until now.
func (r Result) Err() error { return r.err }

// Use does what is left to do, and returns the error that there was.
func (r Result) Use() error {
	if r.show != nil {
		if err := transform.Guard(r.place(), r.show); err != nil {
			return err
		}
	}
	return r.err
}

// failed is an error that concerns no source.
func failed(err error) Result {
	return Result{piece: piece{end: true, err: err}, Ended: []source.Text{{}}}
}

// Failed yields an error that concerns no source.
func Failed(err error) iter.Seq[Result] {
	return func(yield func(Result) bool) { yield(failed(err)) }
}
