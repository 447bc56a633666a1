// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Cluster is the documents that describe one cluster, and where they are from.
type Cluster struct {
	Format  transform.Format
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
	return rules.Described(c.Docs[0], c.Format.Identify(c.Docs[0]), c.twin)
}

// Place names the document that names the cluster, in messages.
func (c Cluster) Place() string { return place(c.Docs[0].Chunk()) }

func place(c yamledit.Chunk) string {
	switch {
	case c.Item > 0:
		return fmt.Sprintf("%s:%d: item %d", c.File, c.Line+1, c.Item)
	case c.Index == 0:
		return c.File
	}
	return fmt.Sprintf("%s:%d: document %d", c.File, c.Line+1, c.Index+1)
}

// Saved is a file that the plan.json in its folder lists with the sum of its content.
type Saved struct {
	source.Text
	Plan plan.Saved
}

// Found is what a search found.
type Found struct {
	Results   []Result // in the order of the documents
	Documents int      // that were read
	Saved     []*Saved // files of saved plans, which are read as no clusters
}

// Result is a cluster, an error, or the end of sources.
type Result struct {
	Cluster             // without Docs for none
	File    string      // names the source; "" for what concerns none
	Err     error       // of the cluster, of a document that may be one, or of the sources as a whole
	Form    forms.Found // what a document has in a form that is not read; with an error, the reason for it

	// Ended are the sources that end here, together where one cluster has documents in
	// them. An error that concerns no source ends one without a name.
	Ended []source.Text
}

// Failed is an error that concerns no source.
func Failed(err error) Result { return Result{Err: err, Ended: []source.Text{{}}} }
