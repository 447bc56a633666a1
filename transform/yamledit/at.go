// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

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
