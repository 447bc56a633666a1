// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// seeds are streams that have the pitfalls of the package's table tests.
func seeds(f *testing.F) []string {
	files, err := filepath.Glob("testdata/seeds/*")
	assert.Must(f, err == nil && len(files) != 0, "testdata/seeds is empty", err)
	var out []string
	for _, name := range files {
		b := assert.Value(os.ReadFile(name))(f)
		out = append(out, string(b))
	}
	return out
}

// FuzzParseKeepsTheBytes: the chunks of a stream joined are the stream, and
// where the library reads the whole stream, it sees the same documents.
func FuzzParseKeepsTheBytes(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var joined []byte
		parsed, failed := 0, false
		for i, c := range Split("in.yaml", stream) {
			assert.Mustf(t, c.Index == i && c.Offset == len(joined) && c.Line == CountLines(joined), "chunk %d says offset %d line %d instead of %d, %d", c.Index, c.Offset, c.Line, len(joined), CountLines(joined))
			joined = append(joined, c.Bytes...)
			d, err := Parse(c)
			if err != nil {
				failed = true
				continue
			}
			assert.Must(t, bytes.Equal(d.Bytes(), c.Bytes), "parsing changed the bytes")
			after, splices, err := d.Edit().Apply()
			assert.Mustf(t, err == nil && len(splices) == 0 && bytes.Equal(after.Bytes(), c.Bytes), "an edit of nothing: %v, %v", err, splices)
			if d.root != nil {
				parsed++
			}
		}
		assert.Mustf(t, bytes.Equal(joined, stream), "the chunks are %q", joined)
		n, err := countDocuments(stream)
		assert.Mustf(t, err != nil || failed || n == parsed, "%d documents instead of %d", parsed, n)
	})
}

// countDocuments lets the library read a whole stream.
func countDocuments(stream []byte) (n int, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the library panicked")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		if len(doc.Content) > 0 && hasText(doc.Content[0]) {
			n++
		}
	}
}

// outcome of one random edit.
type outcome struct {
	name    string
	refused bool
	err     error // the edit returned wrong bytes
}

// randomEdit applies one random edit to a document and compares the result with
// the model. It reports ok=false for documents that cannot be edited at all.
func randomEdit(d *Document, seed uint64) (o outcome, ok bool) {
	before, err := read(d.Bytes())
	if err != nil || d.root == nil || asJSON(before) != asJSON(d.Root().Value()) {
		return o, false
	}
	r := newRandom(seed, d)
	e := d.Edit()
	name, model := r.edit(e)
	o.name = name
	after, splices, err := e.Apply()
	if err != nil {
		o.refused = true
		return o, true
	}
	got, err := read(after.Bytes())
	if err != nil {
		o.err = fmt.Errorf("%s: the result cannot be read: %w\n%s", name, err, after.Bytes())
		return o, true
	}
	if want := asJSON(model(before)); asJSON(got) != want {
		o.err = fmt.Errorf("%s: wrong result\n got %s\nwant %s\n%s", name, asJSON(got), want, after.Bytes())
		return o, true
	}
	o.err = restores(d, after, splices)
	return o, true
}

func restores(d, after *Document, splices []Splice) error {
	back, err := Reverse(d.Bytes(), splices)
	if err != nil {
		return err
	}
	restored, err := Apply(after.Bytes(), back)
	if err != nil {
		return err
	}
	if !bytes.Equal(restored, d.Bytes()) {
		return fmt.Errorf("the reverse gives %q", restored)
	}
	return nil
}

// FuzzEditNeverReturnsWrongBytes makes random edits of random documents.
func FuzzEditNeverReturnsWrongBytes(f *testing.F) {
	for i, s := range seeds(f) {
		for j := range 4 {
			f.Add([]byte(s), uint64(4*i+j))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		for _, c := range Split("in.yaml", stream) {
			d, err := Parse(c)
			if err != nil {
				continue
			}
			o, ok := randomEdit(d, seed)
			assert.Must(t, !ok || o.err == nil, o.err)
		}
	})
}

// FuzzReverseRestoresTheBytes applies random splices to random bytes.
func FuzzReverseRestoresTheBytes(f *testing.F) {
	f.Add([]byte("a: 1\nb: 2\n"), 0, 4, "x", 6, 8, "")
	f.Fuzz(func(t *testing.T, src []byte, s1, e1 int, n1 string, s2, e2 int, n2 string) {
		splices := order([]Splice{{s1, e1, n1}, {s2, e2, n2}})
		after, err := Apply(src, splices)
		if err != nil {
			return
		}
		back := assert.Value(Reverse(src, splices))(t)
		restored, err := Apply(after, back)
		assert.Mustf(t, err == nil && bytes.Equal(restored, src), "%v: %q", err, restored)
	})
}

// TestRandomEditsOverTheCorpus makes RKE_LM_EDITS random edits over all YAML
// files below RKE_LM_CORPUS.
func TestRandomEditsOverTheCorpus(t *testing.T) {
	folder := os.Getenv("RKE_LM_CORPUS")
	if folder == "" {
		t.Skip("RKE_LM_CORPUS names no folder with cluster files")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip(err)
	}
	docs := corpusDocuments(t, folder)
	assert.Must(t, len(docs) != 0, "no document of the corpus can be edited")
	edits := 20_000
	if n, err := strconv.Atoi(os.Getenv("RKE_LM_EDITS")); err == nil {
		edits = n
	}
	var next, done, refused atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(edits) || t.Failed() {
					return
				}
				d := docs[i%int64(len(docs))]
				o, _ := randomEdit(d, uint64(i))
				done.Add(1)
				if o.refused {
					refused.Add(1)
				}
				assert.Truef(t, o.err == nil, "%s document %d seed %d: %v", d.File(), d.chunk.Index, i, o.err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d documents, %d edits, %d refused, none wrong: %v", len(docs), done.Load(), refused.Load(), !t.Failed())
}

func corpusDocuments(t *testing.T, folder string) []*Document {
	var docs []*Document
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, c := range Split(path, b) {
			if d, err := Parse(c); err == nil {
				if _, ok := randomEdit(d, 1); ok {
					docs = append(docs, d)
				}
			}
		}
		return nil
	})
	assert.NilError(t, err)
	return docs
}
