// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"fmt"

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
