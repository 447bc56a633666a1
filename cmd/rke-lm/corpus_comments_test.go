// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// commentsAreKept lets no comment go, but those in what goes as a whole where the kind drops it, and on lines that go freely.
func commentsAreKept(o *outcome, i int) error {
	before := o.Steps[i].Documents[0].Before
	left := commentsOf(o.Steps[i].After()[0].Bytes())
	for _, d := range o.changes[i] {
		if d.after == absent && o.kind.dropsComments(d) {
			addTo(left, commentsOf(linesOf(before, d.was)))
		}
	}
	for line := range strings.Lines(string(before.Bytes())) {
		if o.kind.freely != "" && strings.Contains(line, o.kind.freely) {
			addTo(left, commentsOf([]byte(line)))
		}
	}
	for comment, n := range commentsOf(before.Bytes()) {
		if left[comment] < n {
			return fmt.Errorf("a comment is lost: %s", comment)
		}
	}
	return nil
}

// dropsText lets go what looks like a comment in a text that is no YAML, such as the configuration of a provider.
func dropsText(d difference) bool {
	_, isText := d.before.(string)
	return isText && !isFlag(d.before)
}

func addTo(sum, more map[string]int) {
	for comment, n := range more {
		sum[comment] += n
	}
}

// linesOf returns the lines that hold a node.
func linesOf(doc *yamledit.Document, path []any) []byte {
	n := doc.Root()
	for _, next := range path {
		switch next := next.(type) {
		case string:
			n = n.Get(next)
		case int:
			n = n.Items()[next]
		}
	}
	from, to := lineRange(n)
	return bytes.Join(bytes.SplitAfter(doc.Bytes(), []byte("\n"))[from:to], nil)
}

// lineRange returns the 0-based line at which a node starts, and the one after
// its last descendant.
func lineRange(n yamledit.Node) (from, to int) {
	before := n.Document().Chunk().Line
	return n.Line() - before - 1, lastLine(n) - before
}

func lastLine(n yamledit.Node) int {
	last := n.Line()
	for _, c := range n.Children() {
		last = max(last, lastLine(c))
	}
	return last
}

// commentsOf counts what follows a # at the start of a line or after a blank,
// in text that is no comment too.
func commentsOf(text []byte) map[string]int {
	found := map[string]int{}
	for line := range linesIn(text) {
		if c, has := commentOf(line); has {
			found[c]++
		}
	}
	return found
}

// linesIn yields lines, those of a text in quotes on one line as well.
func linesIn(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(text)) {
			for part := range strings.SplitSeq(strings.TrimRight(line, "\r\n"), `\n`) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

func commentOf(line string) (string, bool) {
	for i := range line {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[i:], true
		}
	}
	return "", false
}
