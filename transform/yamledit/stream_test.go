// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	k8syaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// without removes documents of the stream under key m.
func without(which ...int) func(*Edit, Node) {
	return func(e *Edit, n Node) {
		in, err := e.Embedded(n.Get("m"))
		if err != nil {
			e.Fail(err)
			return
		}
		for _, i := range which {
			in.Remove(i)
		}
	}
}

func TestRemovingADocumentKeepsAllOthers(t *testing.T) {
	runEdits(t, []editCase{
		{"the last of a stripped block", "m: |-\n  a: 1\n  ---\n  b: 2\nz: 1\n", without(1), "m: |-\n  a: 1\nz: 1\n"},
		{"the last of a clipped block", "m: |\n  a: 1\n  ---\n  b: 2\nz: 1\n", without(1), "m: |\n  a: 1\nz: 1\n"},
		{"the last of a kept block, whose blank lines stay", "m: |+\n  a: 1\n  ---\n  b: 2\n\n\nz: 1\n", without(1), "m: |+\n  a: 1\n\n\nz: 1\n"},
		{"the last at the end of the file without a break", "m: |-\n  a: 1\n  ---\n  b: 2", without(1), "m: |-\n  a: 1"},
		{"one in the middle", "m: |\n  a: 1\n  ---\n  b: 2\n  ---\n  c: 3\n", without(1), "m: |\n  a: 1\n  ---\n  c: 3\n"},
		{"the first, and the marker that the second one needed", "m: |\n  a: 1\n  ---\n  b: 2\n", without(0), "m: |\n  b: 2\n"},
		{"the first, where each has a marker", "m: |\n  ---\n  a: 1\n  ---\n  b: 2\n", without(0), "m: |\n  ---\n  b: 2\n"},
		{"two neighbours at the end", "m: |-\n  a: 1\n  ---\n  b: 2\n  ---\n  c: 3\n", without(1, 2), "m: |-\n  a: 1\n"},
		{"two that are not neighbours", "m: |-\n  a: 1\n  ---\n  b: 2\n  ---\n  c: 3\n  ---\n  d: 4\n", without(0, 2), "m: |-\n  b: 2\n  ---\n  d: 4\n"},
		{"all of them", "m: |-\n  a: 1\n  ---\n  b: 2\nz: 1\n", without(0, 1), "m: \"\"\nz: 1\n"},
		{"but not its comments", "m: |\n  a: 1\n  ---\n  # about b\n  b: 2 # two\n  ---\n  c: 3\n", without(1), "m: |\n  a: 1\n  # about b\n  # two\n  ---\n  c: 3\n"},
		{"but not the comment after it", "m: |\n  a: 1\n  ---\n  b: 2\n  # about c\n  ---\n  c: 3\n", without(1), "m: |\n  a: 1\n  # about c\n  ---\n  c: 3\n"},
		{"but not the comment that ends the stream", "m: |-\n  a: 1\n  ---\n  b: 2\n  # the end\n", without(1), "m: |-\n  a: 1\n  # the end\n"},
		{"but not the comment in front of the first marker", "m: |\n  # ours\n  ---\n  a: 1\n  ---\n  b: 2\n", without(0), "m: |\n  # ours\n  ---\n  b: 2\n"},
		{"after an end marker", "m: |\n  a: 1\n  ...\n  ---\n  b: 2\n", without(1), "m: |\n  a: 1\n  ...\n"},
		{"in front of an empty one", "m: |\n  a: 1\n  ---\n  ---\n  c: 3\n", without(0), "m: |\n  ---\n  c: 3\n"},
		{"with blank lines around", "m: |\n  a: 1\n\n  ---\n\n  b: 2\n\n  ---\n  c: 3\n", without(1), "m: |\n  a: 1\n\n  ---\n  c: 3\n"},
		{"of a quoted string", "m: \"a: 1\\n---\\nb: 2\\n\"\n", without(1), "m: \"a: 1\\n\"\n"},
		{"of JSON", "{\"m\": \"a: 1\\n---\\nb: \\\"x\\\"\\n---\\nc: 3\"}\n", without(1), "{\"m\": \"a: 1\\n---\\nc: 3\"}\n"},
		{"in CRLF", "m: |\r\n  a: 1\r\n  ---\r\n  b: 2\r\nz: 1\r\n", without(1), "m: |\r\n  a: 1\r\nz: 1\r\n"},
	})
}

func TestRemovingAndAppendingAtOnce(t *testing.T) {
	both := all(without(1), join("m", "new: 1\n"))
	runEdits(t, []editCase{
		{"a stripped block", "m: |-\n  a: 1\n  ---\n  b: 2\nz: 1\n", both, "m: |-\n  a: 1\n  ---\n  new: 1\nz: 1\n"},
		{"a clipped block", "m: |\n  a: 1\n  ---\n  b: 2\n", both, "m: |\n  a: 1\n  ---\n  new: 1\n"},
	})
}

func TestAnEditOfARemovedDocumentIsForgotten(t *testing.T) {
	got, err := edited(t, "m: |\n  a: 1\n  ---\n  b: 2\n", func(e *Edit, n Node) {
		in := assert.Value(e.Embedded(n.Get("m")))(t)
		in.Edit(1).Set(in.Documents()[1].Root().Get("b"), 3)
		in.Edit(0).Set(in.Documents()[0].Root().Get("a"), 3)
		in.Remove(1)
	})
	assert.True(t, err == nil && got == "m: |\n  a: 3\n", err, got)
}

func TestAppendingKeepsABlockThatEndsTheStream(t *testing.T) {
	append := join("m", "b: 2\n")
	runEdits(t, []editCase{
		{"clipped", "m: |-\n  a: |\n    x\nz: 1\n", append, "m: |-\n  a: |-\n    x\n  ---\n  b: 2\nz: 1\n"},
		{"kept", "m: |-\n  a: |+\n    x\nz: 1\n", append, "m: |-\n  a: |-\n    x\n  ---\n  b: 2\nz: 1\n"},
		{"folded", "m: |-\n  a: >\n    x\nz: 1\n", append, "m: |-\n  a: >-\n    x\n  ---\n  b: 2\nz: 1\n"},
		{"stripped", "m: |-\n  a: |-\n    x\nz: 1\n", append, "m: |-\n  a: |-\n    x\n  ---\n  b: 2\nz: 1\n"},
		{"with a line break after it", "m: |\n  a: |\n    x\nz: 1\n", append, "m: |\n  a: |\n    x\n  ---\n  b: 2\nz: 1\n"},
	})
}

func TestAppendingToADocumentThatIsEditedAsWell(t *testing.T) {
	both := func(change func(*Edit, Node)) func(*Edit, Node) { return all(inText("m", change), join("m", "b: 1\n")) }
	inside, before, after, shorter := both(inText("v", add("z", "2"))), both(set(22, "a")), both(add("w", "2")), both(drop("a"))
	const stripped = "m: |-\n  a: 1\n  v: |\n    x: 1\n"
	runEdits(t, []editCase{
		{"a clipped block that ends a stripped stream", stripped, before, "m: |-\n  a: 22\n  v: |-\n    x: 1\n  ---\n  b: 1\n"},
		{"the same, changed inside", stripped, inside, "m: |-\n  a: 1\n  v: |-\n    x: 1\n    z: \"2\"\n  ---\n  b: 1\n"},
		{"the same, with a key after it", stripped, after, "m: |-\n  a: 1\n  v: |-\n    x: 1\n  w: \"2\"\n  ---\n  b: 1\n"},
		{"the same, moved to the front", stripped, shorter, "m: |-\n  v: |-\n    x: 1\n  ---\n  b: 1\n"},
		{"the last of two documents", "m: |\n  z: 0\n  ---\n  a: 1\n", before, "m: |\n  z: 0\n  ---\n  a: 22\n  ---\n  b: 1\n"},
		{"a clipped block that ends a clipped stream", "m: |\n  a: 1\n  v: |\n    x: 1\n", before, "m: |\n  a: 22\n  v: |\n    x: 1\n  ---\n  b: 1\n"},
	})
}

func TestAppendingADocumentThatEndsInABlock(t *testing.T) {
	block := join("m", "b: |\n  x\n", "c: |\n  x\n")
	runEdits(t, []editCase{
		{"to a clipped stream", "m: |\n  a: 1\n", block, "m: |\n  a: 1\n  ---\n  b: |\n    x\n  ---\n  c: |\n    x\n"},
		{"to a stripped stream", "m: |-\n  a: 1\n", block, "m: |-\n  a: 1\n  ---\n  b: |\n    x\n  ---\n  c: |\n    x\n"},
		{"to an empty one", "m: ''\n", block, "m: |-\n  b: |\n    x\n  ---\n  c: |\n    x\n"},
	})
}

func TestRemovalsThatWouldChangeAnotherDocumentAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"a value loses its line break":          "m: |-\n  a: |\n    x\n  ---\n  b: 2\nz: 1\n",
		"a comment would become part of a text": "m: |\n  a: |\n    x\n  ---\n  b: 2\n    # note\n  ---\n  c: 3\n",
	} {
		got, err := edited(t, in, without(1))
		assert.ErrorContains(t, err, "m: the documents in it cannot be changed safely", name, got)
	}
}

func TestEmptyReportsWhetherAnythingIsLeft(t *testing.T) {
	for text, want := range map[string]bool{"a: 1\n": true, "---\na: 1\n...\n": true, "a: 1\n---\nb: 2\n": false, "# ours\n---\na: 1\n": false} {
		d := assert.Value(ParseString("in.yaml", "m: "+JSON(text)+"\n"))(t)
		in := assert.Value(d.Root().Get("m").Embedded())(t)
		in.Remove(0)
		got, err := in.Empty()
		assert.Truef(t, err == nil && got == want, "%q: %v, %v", text, got, err)
	}
}

// TestRandomRemovalsKeepAllOtherDocuments takes documents out of streams that are
// made of odd pieces; the library alone decides.
func TestRandomRemovalsKeepAllOtherDocuments(t *testing.T) {
	pieces := []string{
		"a: 1\n", "b:\n- 1\n- 2\n", "# c\nc: 3\n", "d: 4 # d\n# after\n", "e: |\n  text\n", "f: |+\n  text\n\n", "g: >\n  one\n  two\n",
		"{h: 5}\n", "\ni: 6\n\n", "# alone\n", "", "j: \"x\\ny\"\n", "k: {}\n", "- l\n", "m: |-\n  n: 1\n  ---\n  o: 2\n",
	}
	refused := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 11))
		var docs []string
		for range 1 + r.IntN(5) {
			docs = append(docs, pieces[r.IntN(len(pieces))])
		}
		text := []string{"", "---\n", "# head\n---\n"}[r.IntN(3)] + strings.Join(docs, []string{"---\n", "...\n---\n", "--- # m\n"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			text = strings.TrimRight(text, "\n")
		}
		ok, err := randomRemoval(r, text)
		assert.Mustf(t, err == nil, "seed %d: %v\n%q", seed, err, text)
		if !ok {
			refused++
		}
	}
	assert.Truef(t, refused <= 400, "%d of 4000 refused", refused)
}

func randomRemoval(r *rand.Rand, text string) (ok bool, err error) {
	source := "m: " + JSON(text) + "\n"
	if literal, ok := literalBlock(text, 2, 2); ok && r.IntN(3) > 0 {
		source = "m: " + literal + "\nz: 1\n"
		if strings.HasSuffix(text, "\n\n") {
			source = "m: " + literal + "\n"
		}
	}
	d, err := ParseString("in.yaml", source)
	if err != nil {
		return false, err
	}
	e := d.Edit()
	in, err := e.Embedded(d.Root().Get("m"))
	if err != nil {
		return false, nil // no stream
	}
	var want []string
	for i, doc := range in.Documents() {
		if r.IntN(2) == 0 {
			in.Remove(i)
		} else if doc.Root().Exists() {
			want = append(want, asJSON(doc.Root().Value()))
		}
	}
	after, splices, err := e.Apply()
	if err != nil {
		return false, nil // refused
	}
	got, err := libraryDocuments(after.Root().Get("m").Value().(string))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		return false, fmt.Errorf("%w: got %v, want %v\n%s", err, got, want, after.Bytes())
	}
	err = restores(d, after, splices)
	return err == nil, err
}

// libraryDocuments reads a stream as a Kubernetes client does.
func libraryDocuments(text string) ([]string, error) {
	var found []string
	for _, c := range Split("", []byte(text)) {
		var v any
		if err := k8syaml.Unmarshal(bytes.TrimSuffix(c.Bytes, []byte("...\n")), &v); err != nil {
			return nil, err
		}
		if v != nil {
			found = append(found, asJSON(v))
		}
	}
	return found, nil
}
