// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Span returns the bytes of an existing node's value in its document, tag and
// anchor included, for an alias those of what it names; for a null that is left
// out both are the same.
func (n Node) Span() (start, end int) { return n.span(n.y) }

// Start returns the offset of the first byte of the entry, which is that of its key for a
// mapping's value; false where it has none, as a null that is left out.
func (n Node) Start() (offset int, written bool) {
	first := n.at
	if n.key != nil {
		first = n.key
	}
	if first == nil || !hasText(first) {
		return 0, false
	}
	return n.doc.start(first), true
}

// span returns the bytes of the node's value, or of the alias in its place.
func (n Node) span(y *yaml.Node) (start, end int) {
	if !hasText(y) {
		if n.key == nil {
			s := n.doc.start(y)
			return s, s
		}
		e := n.doc.afterColon(n.key)
		return e, e
	}
	return n.doc.start(y), n.doc.end(y)
}

// At returns the innermost node to which a line of the file belongs. A line with several entries
// belongs to the mapping or the list that they are in.
func (d *Document) At(line int) Node {
	n := d.Root()
	for {
		next, found := n.startedBy(line)
		if !found {
			return n
		}
		n = next
	}
}

// startedBy returns the last child that starts on a line or before it, if it is alone on its own.
func (n Node) startedBy(line int) (last Node, found bool) {
	if n.at != n.y {
		return n, false // what an alias refers to is elsewhere
	}
	alone := true
	for _, c := range n.children() {
		if c.Line() > line {
			break
		}
		alone = !found || c.Line() != last.Line()
		last, found = c, true
	}
	return last, found && alone
}
