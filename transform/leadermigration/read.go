// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Read returns the configurations in a document: itself, or those in the data of
// a ConfigMap or the stringData of a Secret; none for any other. Wildcards without
// quotes are findings, and are read as if they had them. It fails for what is no
// YAML even then.
func Read(c yamledit.Chunk) ([]yamledit.Node, []transform.Finding, error) {
	quoted, lines := quoteWildcards(string(c.Bytes), c.Line)
	c.Bytes = []byte(quoted)
	doc, err := transform.Parse(c)
	if err != nil {
		return nil, unquoted(c.File, lines), err
	}
	roots, err := configurations(doc.Root())
	return roots, unquoted(c.File, lines), err
}

// configurations returns the configurations in a document.
func configurations(root yamledit.Node) ([]yamledit.Node, error) {
	if root.StringAt("kind") == Kind {
		return []yamledit.Node{root}, nil
	}
	var found []yamledit.Node
	for _, e := range append(root.Get("data").Entries(), root.Get("stringData").Entries()...) {
		if s, _ := e.Value.String(); !strings.Contains(s, Kind) {
			continue
		}
		in, err := e.Value.Embedded()
		if err != nil {
			return nil, err
		}
		found = append(found, lists.Found(in.Documents(), configurationIn)...)
	}
	return found, nil
}

// Embedded reads the configuration in a string, as Read reads those of a file; a
// string that holds none has no node.
func Embedded(at yamledit.Node) (yamledit.Node, []transform.Finding, error) {
	quoted, lines := quoteWildcards(at.StringAt(), at.Line())
	if len(lines) == 0 {
		in, err := at.Embedded()
		if err != nil {
			return yamledit.Node{}, nil, err
		}
		return yamledit.First(lists.Found(in.Documents(), configurationIn)...), nil, nil
	}
	var docs []*yamledit.Document
	for _, chunk := range yamledit.Split(at.Document().File(), []byte(quoted)) {
		chunk.Line += at.Line()
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return yamledit.Node{}, nil, err
		}
		docs = append(docs, doc)
	}
	return yamledit.First(lists.Found(docs, configurationIn)...), unquoted(at.Document().File(), lines), nil
}

// configurationIn returns the root of a document, and whether it is a configuration.
func configurationIn(d *yamledit.Document) (yamledit.Node, bool) {
	return d.Root(), d.Root().StringAt("kind") == Kind
}

// bareWildcard is how Kubernetes' own page prints a component: YAML takes the
// star for the beginning of an alias.
var bareWildcard = regexp.MustCompile(`(?m)^([^#\n]*\bcomponent:[ \t]+)\*([ \t]*(?:[,}#\r].*)?)$`)

// quoteWildcards puts quotes around bare wildcards, and returns the lines of the
// file that hold them, where the text begins after so many lines.
func quoteWildcards(text string, before int) (string, []int) {
	lines := lists.Map(bareWildcard.FindAllStringIndex(text, -1), func(at []int) int { return before + 1 + strings.Count(text[:at[0]], "\n") })
	return bareWildcard.ReplaceAllString(text, `$1"*"$2`), lines
}

// unquoted returns a finding for each line with a bare wildcard.
func unquoted(file string, lines []int) []transform.Finding {
	return ruleOf(wildcardUnquoted).Report(lists.Map(lines, func(line int) transform.Finding {
		return transform.Finding{File: file, Line: line, Message: "* without quotes is not valid YAML, and the manager exits", Fix: `write component: "*"`}
	}), nil)
}
