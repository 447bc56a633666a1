// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"sync/atomic"
)

// work counts what is done with a document, the edits of it and the documents in its strings: the
// nodes that are visited, and the bytes that are parsed. It depends on the document and the
// command alone, and is the same on every machine.
type work struct{ nodes, bytes atomic.Int64 }

// Most are the budgets of a document and of a run. A document has 16 MiB at most, with some four million
// values: it can be read as a whole 250 times, and parsed a thousand times. A list has 64 MiB at most. Tests have smaller ones.
var Most = struct{ Nodes, Bytes, RunNodes, RunBytes int64 }{1 << 30, 16 << 30, 64 << 30, 1 << 40}

// done is the work of the process. Documents add theirs in steps.
var done work

const batch = 1 << 10

// Spent returns how many nodes were visited and how many bytes were parsed since the process began,
// in steps for each document.
func Spent() (nodes, bytes int64) { return done.nodes.Load(), done.bytes.Load() }

// CheckRun fails if the budget of a run is spent, which began when Spent returned the two.
func CheckRun(nodes, bytes int64) error {
	n, b := Spent()
	if n-nodes > Most.RunNodes || b-bytes > Most.RunBytes {
		return fmt.Errorf("the budget of a run is spent: more than %d values read or %d bytes parsed; name fewer files", Most.RunNodes, Most.RunBytes)
	}
	return nil
}

// Visit counts nodes. A document whose budget is spent ends the work on it by a panic with an
// *Error, which whoever keeps one document from ending a run turns into one.
func (d *Document) Visit(nodes int) {
	if d != nil && count(&d.texts.work.nodes, &done.nodes, int64(nodes)) > Most.Nodes {
		d.spent("values are read", Most.Nodes)
	}
}

// parsed counts bytes.
func (d *Document) parsed(bytes int) {
	if count(&d.texts.work.bytes, &done.bytes, int64(bytes)) > Most.Bytes {
		d.spent("bytes are parsed", Most.Bytes)
	}
}

func (d *Document) spent(what string, most int64) {
	panic(&Error{File: d.File(), Line: d.chunk.Line + 1, What: fmt.Sprintf("the budget of a document is spent: more than %d %s for it", most, what), Do: "no cluster comes near it; check how the file was created"})
}

func count(own, all *atomic.Int64, n int64) int64 {
	now := own.Add(n)
	if steps := now/batch - (now-n)/batch; steps > 0 {
		all.Add(steps * batch)
	}
	return now
}
