// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// file is a source that was read.
type file struct {
	source.Text             // without Bytes if nothing of it is opened
	docs        []*document // worth opening
	count       int         // of all documents
	empty       bool        // it has no text
	saved       *Saved      // that it is, and was not opened; nil for none
	err         error
}

// document is one of a file, and what was found in it: nothing, one of these, or an error.
type document struct {
	file    *file
	chunk   yamledit.Chunk
	words   bool               // it has words of what is looked for
	cluster *Cluster           // that it names, or that it may be one of several documents of
	groups  bool               // the cluster may have other documents
	names   []kustomize.Known  // of the cluster
	place   string             // of the names
	related *yamledit.Document // that rules read
	values  *yamledit.Document // of a values file
	form    forms.Found        // that is not read
	meant   bool               // for a cluster, and it cannot be read
	err     error
}

// read reads sources and opens their documents.
func (f Finder) read(ctx context.Context, sources []source.Source) ([]*file, error) {
	var size atomic.Int64
	files := Each(ctx, 0, sources, func(s source.Source) *file {
		if size.Load() > source.MaxFile {
			return nil
		}
		read := f.readFile(s)
		size.Add(int64(read.size()))
		return read
	})
	var docs []*document
	sum := 0
	for i, file := range files {
		if file != nil {
			sum += file.size()
		}
		if file == nil || sum > source.MaxFile {
			return nil, fmt.Errorf("%s: with it there are more than %d MiB of documents; name fewer files", sources[i].Name, source.MaxFile>>20)
		}
		docs = append(docs, file.docs...)
	}
	Each(ctx, 0, docs, func(d *document) error { f.open(d); return nil })
	return files, nil
}

// size is that of the documents that are opened.
func (f *file) size() (n int) {
	for _, d := range f.docs {
		n += len(d.chunk.Bytes)
	}
	return n
}

// readFile reads a source, and keeps the documents worth opening. The first one of a named source is
// worth it in any case: if no cluster turns up, it says what the source holds instead.
func (f Finder) readFile(s source.Source) *file {
	text, err := s.Read()
	read := &file{Text: text, err: err}
	if err != nil {
		return read
	}
	if read.saved = f.saved(text); read.saved != nil {
		read.Bytes = nil
		return read
	}
	if read.empty = len(text.Bytes) == 0; s.OtherForm() {
		read.docs, read.count, read.Bytes = []*document{{file: read, chunk: yamledit.Chunk{Bytes: text.Bytes}}}, 1, nil
		return read
	}
	for c, err := range text.Documents() {
		if read.err = err; err != nil {
			break
		}
		read.count++
		words := f.words(c.Bytes)
		if !words && !s.Values && !(s.Named && c.Index == 0) && !yamledit.Disguised(c.Bytes) && !forms.Possible(c.Bytes) {
			continue
		}
		dump := false // of its objects, which are no cluster, one is named
		for _, item := range yamledit.Items(c, transform.Parse) {
			if of := forms.IsDump(item.Bytes); !of || !dump {
				dump, read.docs = dump || of, append(read.docs, &document{file: read, chunk: item, words: words})
			}
		}
	}
	if len(read.docs) == 0 {
		read.Bytes = nil
	}
	return read
}

// open finds out what a document is.
func (f Finder) open(d *document) {
	text := d.chunk.Bytes
	utf16 := bytes.HasPrefix(text, []byte("\xfe\xff")) || bytes.HasPrefix(text, []byte("\xff\xfe")) // libraries differ in what they read of it
	at := place(d.chunk)
	if d.file.Values {
		d.err = transform.Guard(at, func() (err error) { d.values, err = transform.Parse(d.chunk); return err })
		return
	}
	d.err = transform.Guard(at, func() (err error) {
		if d.file.OtherForm() || !d.words && !d.file.Named && !utf16 && !f.applied(d.chunk) {
			return nil
		}
		doc, c, err := f.Open(d.chunk)
		switch {
		case err != nil:
			return err
		case c.Docs != nil:
			c.Sources = []source.Source{d.file.Source}
			d.groups = c.Format.Grouping.MayGroup(c.Docs[0])
			d.names, d.place = f.names(c)
			d.cluster = &c
		case f.related(doc):
			d.related = doc
		}
		return nil
	})
	if d.err != nil {
		d.meant = true
		_ = transform.Guard(at, func() error { // a text whose budget is spent may be meant for one
			d.meant = utf16 || slices.ContainsFunc(f.Formats, func(d transform.Format) bool { return d.Meant(text) }) || f.applied(d.chunk)
			return nil
		})
	}
	if d.cluster == nil && !d.meant && d.related == nil && filepath.Base(d.file.Name) != planfolder.PlanFile {
		d.form = forms.Find(d.file.Name, text, d.chunk.Line+1)
	}
}

// saved returns a file that was found, and that the plan of its folder lists as it is; nil for others. What
// a kustomization or Fleet applies is a cluster, whoever lists it.
func (f Finder) saved(t source.Text) *Saved {
	at, err := filepath.Abs(t.Name)
	if t.Named || f.Overlays == nil || err != nil {
		return nil
	}
	list, err := f.Overlays.Version.Read(filepath.Join(filepath.Dir(at), planfolder.PlanFile))
	if err != nil {
		return nil
	}
	plan, listed := planfolder.Lists(list, filepath.Base(at), t.Bytes)
	if !listed || len(f.Overlays.Use(t.Source).Roots) != 1 {
		return nil
	}
	return &Saved{t, plan}
}

// words reports whether a text has the words of a document of a format, or of one that rules read.
func (f Finder) words(text []byte) bool {
	return slices.ContainsFunc(f.Formats, func(d transform.Format) bool {
		return d.Words.In(text) || d.Grouping.Related.Words.In(text) || f.Configs && d.Grouping.Configs.Words.In(text)
	})
}

// related reports whether rules of a format read a document.
func (f Finder) related(doc *yamledit.Document) bool {
	return slices.ContainsFunc(f.Formats, func(d transform.Format) bool {
		return d.Grouping.Related.Has(doc) || f.Configs && d.Grouping.Configs.Has(doc)
	})
}

// mayGroup reports whether a text that cannot be read may be of a cluster with several documents.
func (f Finder) mayGroup(text []byte) bool {
	return !f.SeparateDocuments && slices.ContainsFunc(f.Formats, func(d transform.Format) bool {
		return d.Grouping.Several && (d.Meant(text) || yamledit.Disguised(text))
	})
}

// applied reports whether kubectl, or Rancher, would apply an object of a format, or one that rules read,
// from a document, whatever its spelling.
func (f Finder) applied(c yamledit.Chunk) bool {
	return slices.ContainsFunc(append(yamledit.KubectlObjects(c), yamledit.RancherObject(c)), func(object map[string]any) bool {
		plain, err := json.Marshal(object)
		if err != nil || !f.words(plain) {
			return false
		}
		doc, err := yamledit.Parse(yamledit.Chunk{Bytes: plain})
		return err != nil || f.related(doc) || slices.ContainsFunc(f.Formats, func(d transform.Format) bool { return d.Owns(doc) })
	})
}

// Expected names what a file may hold.
func (f Finder) Expected() string {
	return strings.Join(lists.Map(f.Formats, func(d transform.Format) string { return d.Document }), " or ")
}

// Open parses a document and finds its format; a document of none has no Docs.
func (f Finder) Open(c yamledit.Chunk) (doc *yamledit.Document, of Cluster, err error) {
	if doc, err = transform.Parse(c); err != nil {
		return nil, of, err
	}
	items := doc.Root().Get("items")
	owner := slices.IndexFunc(f.Formats, func(d transform.Format) bool { return d.Owns(doc) })
	switch {
	case owner >= 0 && items.Exists():
		return nil, of, items.Errorf("kubectl takes an object with this key for a list, and applies what is in it instead", "remove the key")
	case owner >= 0 || f.Forced && doc.Root().Exists():
		return doc, Cluster{Format: f.Formats[max(owner, 0)], Docs: transform.Only(doc)}, nil
	case items.IsList():
		return nil, of, items.Errorf("a list of objects that is none of kubectl, or whose items share anchors", "write each cluster as a document of its own, as kubectl get -o yaml NAME prints it")
	}
	root := doc.Root()
	fragment := yamledit.First(root.Get("spec", "rkeConfig"), root.Get("rkeConfig"), root.Get("machineGlobalConfig"), root.Get("machineSelectorConfig"))
	if fragment.Exists() {
		return nil, of, transform.NotMigratable(fragment, "a fragment of a cluster: the document has no kind: Cluster at its root", "name the whole Cluster object")
	}
	return doc, of, nil
}

// Each calls work for every item, for so many at once, 0 for one a core, and returns the results in the order of the
// items; none once ctx has ended. Work that was begun is then not waited for: it may read a stream
// to which no one writes.
func Each[T, R any](ctx context.Context, most int, items []T, work func(T) R) []R {
	results, done := make([]R, len(items)), make(chan struct{})
	go func() {
		defer close(done)
		workqueue.ParallelizeUntil(ctx, cmp.Or(most, runtime.GOMAXPROCS(0)), len(items), func(i int) { results[i] = work(items[i]) })
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil
	}
	return results
}
