// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"fmt"
	"sync/atomic"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Everything that walks a document recurses once per level, so these two bounds
// keep every walk short. The YAML library allows 10,000 levels.
const (
	// MaxNesting is how many mappings and lists may be inside of each other. The
	// deepest schemas of CustomResourceDefinitions have about 100.
	MaxNesting = 250
	// MaxEmbedding is how many strings with documents may be inside of each other:
	// a file in a ConfigMap in a chart's values in a cluster's manifest is three.
	MaxEmbedding = 16
)

// ErrTooDeep is in the chain of every error about one of the two bounds.
var ErrTooDeep = errors.New("nested too deeply")

const deepAdvice = "no cluster is nested that deeply; check how the file was created"

func (e *Error) because(cause error) *Error {
	e.cause = cause
	return e
}

// tooDeep returns the first collection that is inside of more than so many others.
func tooDeep(n *yaml.Node, levels int) *yaml.Node {
	if n == nil || len(n.Content) == 0 {
		return nil
	}
	if levels == 0 {
		return n
	}
	for _, c := range n.Content {
		if deep := tooDeep(c, levels-1); deep != nil {
			return deep
		}
	}
	return nil
}

// checkNesting refuses a tree that is too deep to be walked.
func (d *Document) checkNesting() error {
	if n := tooDeep(d.root, MaxNesting); n != nil {
		return d.errorAt(n, fmt.Sprintf("more than %d mappings and lists are nested here", MaxNesting), deepAdvice).because(ErrTooDeep)
	}
	return nil
}

// mostNodes bounds how many values aliases may bring into a document; no cluster
// comes near it.
const mostNodes = 1 << 16

// checkAliases refuses aliases that multiply, or that make a tree too deep.
func (d *Document) checkAliases() error {
	if len(d.aliases()) == 0 {
		return nil
	}
	own := 0
	for n := range tree(d.root) {
		if n.Kind != yaml.AliasNode {
			own++
		}
	}
	switch all := measure(d.root, map[*yaml.Node]measured{}); {
	case all.nodes-own > mostNodes:
		return d.errorAt(d.root, "its aliases (*) multiply to more values than any cluster has", "copy the values to where they are used")
	case all.levels > MaxNesting:
		return d.errorAt(d.root, fmt.Sprintf("its aliases (*) nest more than %d mappings and lists", MaxNesting), deepAdvice).because(ErrTooDeep)
	}
	return nil
}

// measured is how many nodes a reader meets in a tree, aliases read through, and how deep they are.
type measured struct{ nodes, levels int }

// measure counts each anchored node once, which seen holds: aliases can multiply without end.
func measure(n *yaml.Node, seen map[*yaml.Node]measured) measured {
	const endless = 1 << 29 // twice it is an int of 32 bits
	if n.Kind == yaml.AliasNode {
		if _, known := seen[n.Alias]; !known {
			seen[n.Alias] = measured{nodes: endless} // until it is counted: an anchor that holds itself
			seen[n.Alias] = measure(n.Alias, seen)
		}
		return seen[n.Alias]
	}
	all := measured{nodes: 1, levels: min(len(n.Content), 1)}
	for _, c := range n.Content {
		in := measure(c, seen)
		all.nodes, all.levels = min(all.nodes+in.nodes, endless), max(all.levels, 1+in.levels)
	}
	return all
}

// checkEmbedding refuses to read a string that is inside of too many others.
func (n Node) checkEmbedding() error {
	if n.doc.strings < MaxEmbedding {
		return nil
	}
	return n.Errorf(fmt.Sprintf("more than %d documents are nested here, each in a string of another", MaxEmbedding), deepAdvice).because(ErrTooDeep)
}

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
