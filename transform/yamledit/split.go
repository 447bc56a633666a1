// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Stdin is the File of a chunk that was read from standard input.
const Stdin = "<stdin>"

// Chunk is the text of one document of a stream, markers and surrounding
// comments included. The chunks of a stream, joined, are the stream.
type Chunk struct {
	File   string // name for messages
	Index  int    // 0-based number of the document in its stream
	Item   int    // 1-based number of the object in a list of them; 0 for a whole document
	Line   int    // number of lines before the chunk
	Offset int    // number of bytes before the chunk
	Bytes  []byte
	Served bool // by an API server: there is no file with these lines
}

// Split cuts a stream into documents where kubectl does.
func Split(file string, stream []byte) []Chunk { return slices.Collect(Documents(file, stream)) }

// Documents yields the documents of a stream one by one: there may be millions of empty ones.
func Documents(file string, stream []byte) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		var cut Cutter
		c := Chunk{File: file}
		at := 0
		for line := range bytes.Lines(stream) {
			if cut.Opens(line) {
				c.Bytes = stream[c.Offset:at:at]
				if !yield(c) {
					return
				}
				c = c.Next()
			}
			at += len(line)
		}
		c.Bytes = stream[c.Offset:at:at]
		yield(c)
	}
}

// Next returns the empty chunk after c.
func (c Chunk) Next() Chunk {
	return Chunk{File: c.File, Index: c.Index + 1, Line: c.Line + CountLines(c.Bytes), Offset: c.Offset + len(c.Bytes)}
}

// Cutter cuts a stream into documents, line by line. As for kubectl, a line ends with a LF,
// and only "---" begins a document. A second document after "..." or another line break,
// which kubectl does not read, stays in the chunk, and Parse refuses it.
type Cutter struct{ begun bool }

// Opens reports whether the next line begins another document. Comments and directives before
// the first "---" belong to the first document.
func (c *Cutter) Opens(line []byte) bool {
	opens := isMarker(line)
	if opens && c.begun {
		return true
	}
	line = bytes.TrimLeft(bytes.TrimPrefix(line, []byte(bom)), " \t\r\n")
	c.begun = c.begun || opens || len(line) > 0 && line[0] != '#' && line[0] != '%'
	return false
}

// isMarker reports whether a line begins with the marker of a document.
func isMarker(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// CountLines returns the number of line breaks in b, as the parser counts them.
func CountLines(b []byte) int {
	if isPlain(b) {
		return bytes.Count(b, []byte{'\n'})
	}
	return indexLines(b).count() - 1
}

// listForm is what a list of objects has in its text.
var listForm = regexp.MustCompile(`kind["']?\s*:\s*["']?[A-Za-z]*List\b`)

// listKeys are those of a list, as kubectl prints it for several objects. What has
// others is something else, or encrypted as a whole.
var listKeys = []string{"apiVersion", "kind", "items", "metadata"}

// Items cuts a document that is a list of objects into a chunk for each object. Any
// other document is returned as it is. A chunk of an item holds its bytes and
// nothing of its neighbours, so that each is read and edited by itself. A list that parse
// refuses, or with items that take their kind from it, is returned as it is.
func Items(c Chunk, parse func(Chunk) (*Document, error)) []Chunk {
	if !listForm.Match(c.Bytes) || c.Item > 0 {
		return []Chunk{c}
	}
	d, err := parse(c)
	if err != nil {
		return []Chunk{c} // the reader of the document says why
	}
	list := d.Root().Get("items")
	kind, _ := d.Root().Get("kind").String()
	unknown := func(e Entry) bool { return !slices.Contains(listKeys, e.Key) }
	if !strings.HasSuffix(kind, "List") || list.written() == 0 || list.at != list.y || slices.ContainsFunc(d.Root().Entries(), unknown) {
		return []Chunk{c}
	}
	items := make([]Chunk, list.written())
	for i, n := range list.Items() {
		start, end, ok := d.itemBytes(list.y, i)
		if !ok || !n.Get("kind").Exists() || !n.Get("apiVersion").Exists() {
			return []Chunk{c}
		}
		items[i] = c
		items[i].Item, items[i].Bytes = i+1, c.Bytes[start:end:end]
		items[i].Line, items[i].Offset = c.Line+d.lines().of(start), c.Offset+start
		own, err := Parse(items[i])
		if err != nil || !reflect.DeepEqual(own.Root().Value(), n.Value()) {
			return []Chunk{c} // it needs its neighbours, for an anchor perhaps
		}
	}
	return items
}

// ItemIndex returns the 0-based number of the object in its list, or nil.
func (c Chunk) ItemIndex() *int {
	if c.Item == 0 {
		return nil
	}
	i := c.Item - 1
	return &i
}

// itemBytes returns where item i of a list of objects is: in a block list with
// its dash, and up to the line of the next one.
func (d *Document) itemBytes(list *yaml.Node, i int) (start, end int, ok bool) {
	if d.isFlow(list) {
		return d.start(list.Content[i]), d.end(list.Content[i]), true
	}
	dashes, ix := d.dashes(list), d.lines()
	if dashes == nil {
		return 0, 0, false
	}
	line := func(off int) int { return ix.start(ix.of(off)) }
	if i+1 < len(dashes) {
		return line(dashes[i]), line(dashes[i+1]), true
	}
	return line(dashes[i]), ix.start(ix.of(d.end(list)) + 1), true
}

// removeItem makes the item of a block list the root of its document.
func (d *Document) removeItem() {
	if d.chunk.Item > 0 && d.root != nil && d.root.Kind == yaml.SequenceNode && len(d.root.Content) == 1 {
		d.root = d.root.Content[0]
	}
}

// Standalone returns the document's text as a file of its own: an item of a block
// list without its dash and the columns in front.
func (d *Document) Standalone() []byte {
	if d.root == d.outer || d.root == nil {
		return d.Bytes()
	}
	column := d.root.Column - 1
	var out []byte
	for i, line := range bytes.SplitAfter(d.Bytes(), []byte("\n")) {
		blanks := len(line) - len(bytes.TrimLeft(line, " "))
		if i == 0 {
			blanks = column // with the dash
		}
		out = append(out, line[min(blanks, column, len(line)):]...)
	}
	return out
}
