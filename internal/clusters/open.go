// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// read returns the documents worth parsing, and the end of every source. The
// first document of a named one is worth it in any case: if no cluster turns
// up, it says what the file holds instead.
func (f Finder) read(ctx context.Context, sources []source.Source) (all []piece, err error) {
	size := 0
	ends := make([]piece, len(sources))
	for i, s := range sources {
		ends[i] = piece{source: s, number: i, end: true}
	}
	for pieces := range InOrder(ctx, ends, f.pieces) {
		for _, p := range pieces {
			size += len(p.chunk.Bytes)
		}
		if size > source.MaxFile {
			return nil, fmt.Errorf("%s: with it there are more than %d MiB of documents; name fewer files", pieces[0].source.Name, source.MaxFile>>20)
		}
		all = append(all, pieces...)
	}
	return all, nil
}

// pieces reads one source.
func (f Finder) pieces(end piece) (all []piece) {
	s := end.source
	text, err := s.Read()
	if err != nil {
		end.err = err
		return []piece{end}
	}
	if end.saved = f.saved(text); end.saved != nil {
		return []piece{end}
	}
	end.empty = len(text.Bytes) == 0
	if s.OtherForm() {
		end.chunk.Bytes, text.Bytes = text.Bytes, nil // it is read for forms alone
	}
	for c, err := range text.Documents() {
		if end.err = err; err != nil {
			break
		}
		end.count++
		words := f.words(c.Bytes)
		if !words && !s.Values && !(s.Named && c.Index == 0) && !yamledit.Disguised(c.Bytes) && !forms.Possible(c.Bytes) {
			continue
		}
		for _, item := range yamledit.Items(c, transform.Parse) {
			all = append(all, piece{source: s, number: end.number, chunk: item, words: words})
		}
	}
	if end.text = text; len(all) == 0 {
		end.text.Bytes = nil
	}
	return append(all, end)
}

// saved returns a file that was found, and that the plan of its folder lists as it is; nil for others. What
// a kustomization or Fleet applies is a cluster, whoever lists it.
func (f Finder) saved(t source.Text) *Saved {
	at, err := filepath.Abs(t.Name)
	if t.Named || err != nil {
		return nil
	}
	read := source.Small
	if f.Overlays != nil && f.Overlays.Version != nil {
		read = f.Overlays.Version.Read
	}
	list, err := read(filepath.Join(filepath.Dir(at), planfolder.PlanFile))
	if err != nil {
		return nil
	}
	plan, listed := planfolder.Lists(list, filepath.Base(at), t.Bytes)
	if !listed || len(f.Overlays.Use(t.Source).Roots) != 1 {
		return nil
	}
	return &Saved{t, plan}
}

// words reports whether a text has the words of a document of a distro, or of one that rules read.
func (f Finder) words(text []byte) bool {
	return slices.ContainsFunc(f.Distros, func(d transform.Distro) bool {
		return d.Words.In(text) || d.Span.Related.Words.In(text) || f.Configs && d.Span.Configs.Words.In(text)
	})
}

// related reports whether rules of a distro read a document.
func (f Finder) related(doc *yamledit.Document) bool {
	return slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Span.Related.Has(doc) || f.Configs && d.Span.Configs.Has(doc) })
}

// meant reports whether a text that cannot be read was meant for a document of a distro.
func (f Finder) meant(text []byte) bool {
	return slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Meant(text) })
}

// mayJoin reports whether a text that cannot be read may be of a cluster with several documents.
func (f Finder) mayJoin(text []byte) bool {
	return !f.Apart && slices.ContainsFunc(f.Distros, func(d transform.Distro) bool {
		return d.Span.Several && (d.Meant(text) || yamledit.Disguised(text))
	})
}

// applied reports whether kubectl would apply a document of a distro, or one that rules read, from
// a text, whatever its spelling.
func (f Finder) applied(text []byte) bool {
	return slices.ContainsFunc(transform.KubectlObjects(text), func(object map[string]any) bool {
		plain, err := json.Marshal(object)
		if err != nil || !f.words(plain) {
			return false
		}
		doc, err := yamledit.Parse(yamledit.Chunk{Bytes: plain})
		return err != nil || f.related(doc) || slices.ContainsFunc(f.Distros, func(d transform.Distro) bool { return d.Owns(doc) })
	})
}

// Expected names what a file may hold.
func (f Finder) Expected() string {
	var names []string
	for _, d := range f.Distros {
		names = append(names, d.Document)
	}
	return strings.Join(names, " or ")
}

// Open parses a document and finds its distro; a document of none has no Docs.
func (f Finder) Open(c yamledit.Chunk) (doc *yamledit.Document, of Cluster, err error) {
	if doc, err = transform.Parse(c); err != nil {
		return nil, of, err
	}
	items := doc.Root().Get("items")
	owner := slices.IndexFunc(f.Distros, func(d transform.Distro) bool { return d.Owns(doc) })
	switch {
	case owner >= 0 && items.Exists():
		return nil, of, items.Errorf("kubectl takes an object with this key for a list, and applies what is in it instead", "remove the key")
	case owner >= 0 || f.Forced && doc.Root().Exists():
		return doc, Cluster{Distro: f.Distros[max(owner, 0)], Docs: transform.Only(doc)}, nil
	case items.IsList():
		return nil, of, items.Errorf("a list of objects that is none of kubectl, or whose items share anchors", "write each cluster as a document of its own, as kubectl get -o yaml NAME prints it")
	}
	if n, isFragment := fragment(doc); isFragment {
		return nil, of, transform.NotMigratable(n, "a fragment of a cluster: the document has no kind: Cluster at its root", "name the whole Cluster object")
	}
	return doc, of, nil
}

// fragment finds a cluster's configuration outside of a cluster.
func fragment(doc *yamledit.Document) (yamledit.Node, bool) {
	for _, path := range [][]string{{"spec", "rkeConfig"}, {"rkeConfig"}, {"machineGlobalConfig"}, {"machineSelectorConfig"}} {
		if n := doc.Root().Get(path...); n.Exists() {
			return n, true
		}
	}
	return yamledit.Node{}, false
}
