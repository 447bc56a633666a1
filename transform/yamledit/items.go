// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

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
