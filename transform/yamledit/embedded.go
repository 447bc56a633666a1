// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Embedded is a YAML stream that a string of a document holds: the
// additionalManifest of a cluster, the valuesContent of a HelmChart in it, and
// so on to any depth.
type Embedded struct {
	node    Node
	docs    []*Document
	edits   []*Edit
	removed []bool
	append  []string
}

// Embedded reads the stream in a string scalar. The positions that its
// documents report are those of the outer file.
func (n Node) Embedded() (*Embedded, error) {
	text, ok := n.String()
	if !ok {
		return nil, n.Errorf("not a string", "write the manifests as a literal block (|)")
	}
	if err := n.checkEmbedding(); err != nil {
		return nil, err
	}
	docs, err := Attempt(n.doc, n.y, func() ([]*Document, error) { return n.doc.parseIn(n.y, text) }) // the same ones each time
	if err != nil {
		return nil, err
	}
	return &Embedded{node: n, docs: docs, edits: make([]*Edit, len(docs)), removed: make([]bool, len(docs))}, nil
}

func (d *Document) parseIn(y *yaml.Node, text string) ([]*Document, error) {
	var docs []*Document
	flat := y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	for _, c := range Split(d.File(), []byte(text)) {
		if flat {
			c.Line = d.chunk.Line + y.Line - 1
		} else {
			c.Line += d.chunk.Line + y.Line
		}
		in, err := d.texts.parse(c, flat)
		if err != nil {
			return nil, err
		}
		in.strings = d.strings + 1
		docs = append(docs, in)
	}
	return docs, nil
}

// Documents returns the documents of the stream; empty ones have no root.
func (e *Embedded) Documents() []*Document { return e.docs }

// Embedded changes the stream in a string scalar as part of this edit.
func (e *Edit) Embedded(n Node) (*Embedded, error) {
	for _, in := range e.inner {
		if in.node.y == n.y {
			return in, nil
		}
	}
	if !e.writable(n, true) {
		return nil, e.err
	}
	in, err := n.Embedded()
	if err != nil {
		return nil, err
	}
	e.inner = append(e.inner, in)
	return in, nil
}

// Edit returns the change of document i of the stream.
func (e *Embedded) Edit(i int) *Edit {
	if e.edits[i] == nil {
		e.edits[i] = e.docs[i].Edit()
	}
	return e.edits[i]
}

// Append adds a document at the end of the stream. The text has no markers. Where
// the stream ends without a line break, so does a block that ends the document.
func (e *Embedded) Append(text string) { e.append = append(e.append, strings.Trim(text, "\n")) }

// Remove takes document i out of the stream, with its marker. Its comments stay. An
// edit of it is forgotten.
func (e *Embedded) Remove(i int) { e.removed[i] = true }

// Empty reports whether nothing but blanks is left of the stream after the
// changes.
func (e *Embedded) Empty() (bool, error) {
	text, _, err := e.apply()
	return strings.TrimSpace(text) == "", err
}

func (e *Embedded) touched() bool {
	return len(e.append) > 0 || slices.Contains(e.removed, true) || slices.ContainsFunc(e.edits, func(ed *Edit) bool { return ed != nil && !ed.Empty() })
}

// embedded turns changes of embedded streams into splices of the document, and
// promises the new text of the string that holds them.
func (s *splicer) embedded() error {
	for _, in := range s.edit.inner {
		if !in.touched() {
			continue
		}
		text, splices, err := in.apply()
		if err != nil {
			return err
		}
		if err := s.embed(in.node, text, splices); err != nil {
			return err
		}
	}
	return nil
}

// embed writes the splices of an embedded text into the scalar that holds it.
func (s *splicer) embed(n Node, text string, inner []Splice) error {
	c := s.edit.change(n)
	c.set = &promise{text}
	if strings.TrimSpace(n.y.Value) == "" || text == "" {
		return nil // nothing to keep: a new scalar takes its place
	}
	c.spliced = true
	splices, err := n.Outer(inner)
	for _, sp := range splices {
		s.replace(sp.Start, sp.End, sp.New)
	}
	return err
}

// Outer turns splices of a string's value into splices of the document that
// holds it. It fails for scalars whose bytes are not those of their value.
func (n Node) Outer(inner []Splice) ([]Splice, error) {
	var move func(Splice) Splice
	switch y := n.y; {
	case y.Style&yaml.LiteralStyle != 0:
		move = literal{indexLines([]byte(y.Value)), n.doc.lines(), n.doc.block(y)}.splice
	case y.Style&yaml.DoubleQuotedStyle != 0:
		offsets, ok := n.doc.quotedOffsets(y, unescape)
		if !ok {
			return nil, n.Errorf("a quoted string of several lines contains YAML", n.asLiteral())
		}
		move = func(sp Splice) Splice { return Splice{offsets[sp.Start], offsets[sp.End], escaped(sp.New)} }
	case y.Style&yaml.FoldedStyle != 0:
		return nil, n.Errorf("a folded scalar (>) contains YAML; folding hides its line breaks", n.asLiteral())
	case y.Style&yaml.SingleQuotedStyle != 0:
		offsets, ok := n.doc.quotedOffsets(y, undouble)
		if !ok {
			return nil, n.Errorf("a single-quoted string of several lines contains YAML", n.asLiteral())
		}
		if slices.ContainsFunc(inner, func(sp Splice) bool { return !printable(sp.New) || strings.Contains(sp.New, "\n") }) {
			return nil, n.Errorf("a string of one line contains YAML", n.asLiteral())
		}
		move = func(sp Splice) Splice {
			return Splice{offsets[sp.Start], offsets[sp.End], strings.ReplaceAll(sp.New, "'", "''")}
		}
	default:
		return nil, n.Errorf("an unquoted string contains YAML", n.asLiteral())
	}
	return lists.Map(inner, move), nil
}

// asLiteral is the advice for strings whose bytes are not those of their value.
func (n Node) asLiteral() string {
	return "write it as a literal block (|): " + n.Key() + ": | and the lines of the text below, indented"
}

// literal maps splices of a literal scalar's value to the document: the value's
// lines are the content lines without their indentation.
type literal struct {
	inner, outer *lineIndex
	blockText
}

func (l literal) splice(sp Splice) Splice {
	pad := strings.Repeat(" ", l.indent)
	text := indentLines(sp.New, pad)
	startsLine := l.startsLine(sp.Start)
	if !startsLine && strings.HasPrefix(text, pad) && !strings.HasPrefix(sp.New, "\n") {
		text = text[len(pad):] // joins a line that is indented already
	}
	atLineStart := strings.HasSuffix(text, "\n") || text == "" && startsLine
	end := l.place(sp.End)
	switch endsLine := l.startsLine(sp.End); {
	case atLineStart && !endsLine:
		text += pad // the rest of the last line moves to a line of its own
	case !atLineStart && endsLine && sp.End < len(l.inner.src):
		end += l.indent // the next line joins the text
	}
	return Splice{l.place(sp.Start), end, text}
}

func (l literal) startsLine(off int) bool { return off == l.inner.start(l.inner.of(off)) }

// place returns where an offset of the value is; the start of a line is in
// front of its indentation.
func (l literal) place(off int) int {
	line := l.inner.of(off)
	at := l.outer.start(l.first + line)
	if column := off - l.inner.start(line); column > 0 {
		at += l.indent + column
	}
	return at
}

// quotedOffsets maps offsets of the value of a quoted scalar on one line to the document.
func (d *Document) quotedOffsets(n *yaml.Node, decode func([]byte) (r rune, size int, ok bool)) ([]int, bool) {
	src, i, end := d.Bytes(), d.contentStart(n)+1, d.end(n)-1
	offsets := make([]int, 0, len(n.Value)+1)
	var decoded strings.Builder
	for i < end {
		r, size, ok := decode(src[i:end])
		if !ok {
			return nil, false
		}
		for range utf8.RuneLen(r) {
			offsets = append(offsets, i)
		}
		decoded.WriteRune(r)
		i += size
	}
	return append(offsets, end), decoded.String() == n.Value
}

// undouble decodes the first character of a single-quoted text.
func undouble(b []byte) (r rune, size int, ok bool) {
	if b[0] == '\'' {
		return '\'', 2, true
	}
	r, size = utf8.DecodeRune(b)
	return r, size, breakLen(b) == 0
}

// escapes are the one-letter escapes of a double-quoted scalar.
var escapes = map[byte]rune{
	'0': 0, 'a': 7, 'b': 8, 't': 9, '\t': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 27,
	' ': ' ', '"': '"', '/': '/', '\\': '\\', 'N': 0x85, '_': 0xA0, 'L': 0x2028, 'P': 0x2029,
}

// hexEscapes are the escapes with digits after them, and how many.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape decodes the first character of a double-quoted text.
func unescape(b []byte) (r rune, size int, ok bool) {
	if b[0] != '\\' {
		r, size = utf8.DecodeRune(b)
		return r, size, breakLen(b) == 0 && r != utf8.RuneError
	}
	if len(b) < 2 {
		return 0, 0, false
	}
	if r, ok := escapes[b[1]]; ok {
		return r, 2, true
	}
	digits := hexEscapes[b[1]]
	if digits == 0 || len(b) < 2+digits {
		return 0, 0, false
	}
	for _, c := range b[2 : 2+digits] {
		v := strings.IndexByte("0123456789abcdef", c|0x20)
		if v < 0 {
			return 0, 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, 2 + digits, utf8.ValidRune(r)
}

// escaped writes text as it is between double quotes.
func escaped(s string) string {
	text := JSON(s)
	return text[1 : len(text)-1]
}
