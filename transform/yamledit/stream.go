// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// apply returns the stream after the changes. It is parsed again, and holds the
// documents that were promised and no others.
func (e *Embedded) apply() (string, []Splice, error) {
	splices, want, err := e.changed()
	if err != nil {
		return "", nil, err
	}
	old, _ := e.node.String()
	splices = append(splices, e.cuts(old)...)
	text, err := Apply([]byte(old), order(slices.Clone(splices)))
	if err != nil {
		return "", nil, err
	}
	if tail := e.tail(string(text)); tail != "" {
		closing, err := e.closeLast(string(text))
		if err != nil {
			return "", nil, err
		}
		splices = append(splices, closing...)
		splices = append(splices, Splice{len(old), len(old), tail})
	}
	splices = order(splices)
	if text, err = Apply([]byte(old), splices); err != nil {
		return "", nil, err
	}
	if err := e.prove(text, want); err != nil {
		return "", nil, e.node.Errorf("the documents in it cannot be changed safely (the result would not be what was promised: "+what(err)+")", "change them manually")
	}
	return string(text), splices, nil
}

// changed returns the splices of the documents that stay, and what all of them
// and the appended ones have to be.
func (e *Embedded) changed() (splices []Splice, want []*yaml.Node, err error) {
	for i, d := range e.docs {
		if e.removed[i] {
			continue
		}
		if ed := e.edits[i]; ed != nil && !ed.Empty() {
			var inner []Splice
			if d, inner, err = ed.Apply(); err != nil {
				return nil, nil, err
			}
			for _, s := range inner {
				splices = append(splices, Splice{s.Start + d.chunk.Offset, s.End + d.chunk.Offset, s.New})
			}
		}
		want = append(want, d.root)
	}
	for i, text := range e.append {
		if i < len(e.append)-1 || e.endsWithBreak() {
			text += "\n"
		}
		roots, err := e.roots([]byte(text))
		if err != nil {
			return nil, nil, err
		}
		want = append(want, roots...)
	}
	return splices, want, nil
}

// endsWithBreak reports whether the stream ends with a line break, before the
// changes as after them.
func (e *Embedded) endsWithBreak() bool {
	old, _ := e.node.String()
	return strings.TrimSpace(old) != "" && trailingBreak(old) > 0
}

// roots parses a stream.
func (e *Embedded) roots(text []byte) ([]*yaml.Node, error) {
	var roots []*yaml.Node
	for _, c := range Split(e.node.doc.File(), text) {
		d, err := e.node.doc.texts.parse(c, false)
		if err != nil {
			return nil, err
		}
		roots = append(roots, d.root)
	}
	return roots, nil
}

// prove compares the documents of a text with the promised ones. Empty ones do
// not count.
func (e *Embedded) prove(text []byte, want []*yaml.Node) error {
	got, err := e.roots(text)
	if err != nil {
		return err
	}
	isEmpty := func(n *yaml.Node) bool { return n == nil }
	got, want = slices.DeleteFunc(got, isEmpty), slices.DeleteFunc(want, isEmpty)
	if len(got) != len(want) {
		return fmt.Errorf("%d documents instead of %d", len(got), len(want))
	}
	for i := range got {
		unchanged := &Edit{twins: map[*yaml.Node]*yaml.Node{}}
		if err := unchanged.same(want[i], got[i]); err != nil {
			return err
		}
	}
	return nil
}

// cuts returns what goes away with the removed documents.
func (e *Embedded) cuts(old string) []Splice {
	var cuts []Splice
	for i, d := range e.docs {
		if e.removed[i] {
			start, end := d.removable()
			cut := d.removed(start, end, 0) // comments in it stay in the first column
			cuts = append(cuts, Splice{Start: cut.Start + d.chunk.Offset, End: cut.End + d.chunk.Offset, New: cut.New})
		}
	}
	if e.opensWithMarker() {
		at := e.docs[slices.Index(e.removed, false)].chunk.Offset
		cuts = append(cuts, Splice{Start: at, End: at + len("---\n")})
	}
	cuts = order(cuts)
	if n := len(cuts) - 1; n >= 0 && cuts[n].End == len(old) {
		cuts[n] = keepEnding(old, cuts[n])
	}
	return cuts
}

// opensWithMarker reports whether the stream would begin with the marker of a
// later document, which the first one had no need of.
func (e *Embedded) opensWithMarker() bool {
	first := slices.Index(e.removed, false)
	if first <= 0 || !bytes.HasPrefix(e.docs[first].Bytes(), []byte("---\n")) {
		return false
	}
	_, marked := e.docs[0].marker()
	return !marked
}

// keepEnding lets a text whose end is cut off end with as many line breaks as
// before: the header of a literal scalar decides on those.
func keepEnding(old string, cut Splice) Splice {
	if cut.New != "" {
		return Splice{Start: cut.Start, End: len(strings.TrimRight(old, "\n")), New: strings.TrimRight(cut.New, "\n")}
	}
	kept := strings.TrimRight(old[:cut.Start], "\n")
	if kept == "" {
		return Splice{Start: 0, End: len(old)}
	}
	return Splice{Start: len(kept), End: len(strings.TrimRight(old, "\n"))}
}

// removable returns what of the document's text goes with it: from its marker to
// its last line of content, and what is around that unless it is a comment.
func (d *Document) removable() (start, end int) {
	src := d.Bytes()
	if at, marked := d.marker(); marked && bytes.IndexByte(src[:at], '#') >= 0 {
		start = at
	}
	if d.root == nil {
		return start, len(src)
	}
	ix := d.lines()
	after := ix.start(ix.of(d.end(d.root)) + 1)
	if bytes.IndexByte(src[after:], '#') >= 0 {
		return start, after
	}
	return start, len(src)
}

// marker returns the offset of the marker that opens the document, if it has one.
func (d *Document) marker() (at int, marked bool) {
	var cut Cutter
	for line := range bytes.Lines(d.Bytes()) {
		if cut.Opens(line); cut.begun {
			return at, isMarker(line)
		}
		at += len(line)
	}
	return at, false
}

// Content returns the part of the document's text that is its own: without the
// marker that opens it and what is in front of that, and without what follows
// its last line of content. The rest depends on the documents next to it, or is
// comments.
func (d *Document) Content() (start, end int) {
	src := d.Bytes()
	if bytes.HasPrefix(src, []byte(bom)) {
		start = len(bom)
	}
	if at, marked := d.marker(); marked {
		start = at + len("---")
		if blank := skipBlank(src, start); blank == len(src) || src[blank] == '#' || breakLen(src[blank:]) > 0 {
			start = d.lines().start(d.lines().of(at) + 1)
		}
	}
	if d.root == nil {
		return start, len(src)
	}
	ix := d.lines()
	return start, ix.start(ix.of(d.end(d.root)) + 1)
}

// tail joins the appended documents to the stream. Whether the text ends with a
// line break stays as it was: a literal scalar's header decides on that.
func (e *Embedded) tail(old string) string {
	if len(e.append) == 0 {
		return ""
	}
	text := strings.Join(e.append, "\n---\n")
	switch {
	case strings.TrimSpace(old) == "":
		return text
	case e.endsEmpty() && strings.HasSuffix(strings.TrimRight(old, "\n"), "---"):
		text = strings.Repeat("\n", 1-trailingBreak(old)) + text // a marker waits for its document
	default:
		text = strings.Repeat("\n", 1-trailingBreak(old)) + "---\n" + text
	}
	return text + strings.Repeat("\n", trailingBreak(old))
}

// closeLast keeps the value of a block scalar that ends the stream without a line
// break: once text follows, only "|-" still reads it without one.
func (e *Embedded) closeLast(text string) (closing []Splice, err error) {
	i := len(e.docs) - 1
	d, offset := e.docs[i], e.docs[i].chunk.Offset
	if trailingBreak(text) > 0 || d.root == nil || e.removed[i] {
		return nil, nil
	}
	var edited []Splice
	if ed := e.edits[i]; ed != nil && !ed.Empty() {
		if d, edited, err = ed.Apply(); err != nil {
			return nil, err
		}
	}
	s := splicer{doc: d}
	s.strip(lastLeaf(d.root))
	for _, sp := range s.splices {
		start := Origin(edited, sp.Start) + offset
		closing = append(closing, Splice{start, start + sp.End - sp.Start, sp.New})
	}
	return closing, nil
}

// endsEmpty reports whether the last document that stays is empty.
func (e *Embedded) endsEmpty() bool {
	for i, d := range slices.Backward(e.docs) {
		if !e.removed[i] {
			return d.root == nil
		}
	}
	return false
}

func trailingBreak(s string) int {
	if strings.HasSuffix(s, "\n") {
		return 1
	}
	return 0
}
