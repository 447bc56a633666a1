// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// scalarValue lets the library decide about every scalar that could be
// anything but a string.
func scalarValue(n *yaml.Node) any {
	if n.Style&yaml.TaggedStyle != 0 {
		return libraryValue(n.Tag+" "+strconv.Quote(n.Value), n.Value)
	}
	if n.Style != 0 {
		return n.Value
	}
	return plainValue(n.Value)
}

// isText reports without any work that a scalar's value is its text; most are.
func isText(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle == 0 && (n.Style != 0 || !maybeTyped(n.Value))
}

// plainValue returns the value of a scalar without quotes or tag. Asking the
// library takes longer than parsing ten lines of YAML, so it is called for
// numbers alone, and once about each of YAML's words.
func plainValue(s string) any {
	if v, isWord := word(s); isWord {
		return v
	}
	if !maybeNumber(s) {
		return s
	}
	if n, ok := wholeNumber(s); ok {
		return n
	}
	return libraryValue(s, s)
}

func libraryValue(text, fallback string) any {
	var v any
	if err := k8syaml.Unmarshal([]byte(text), &v); err != nil {
		return fallback
	}
	return v
}

// yamlWords are the plain scalars that YAML 1.1 resolves by their spelling, with
// what the library makes of them; a reader of Kubernetes takes y for a string.
var yamlWords = sync.OnceValue(func() map[string]any {
	known := map[string]any{}
	for _, s := range strings.Fields("~ y Y yes Yes YES n N no No NO true True TRUE false False FALSE on On ON off Off OFF null Null NULL " +
		".nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF") {
		known[s] = libraryValue(s, s)
	}
	known[""] = libraryValue("", "")
	return known
})

func word(s string) (v any, isWord bool) {
	const longest = len("false")
	if len(s) <= longest {
		v, isWord = yamlWords()[s]
	}
	return v, isWord
}

// wholeNumber reads the usual spelling of a number: decimal, without a zero in front, and short
// enough to be exact.
func wholeNumber(s string) (float64, bool) {
	n, err := strconv.Atoi(s)
	return float64(n), err == nil && len(s) <= 15 && strconv.Itoa(n) == s
}

// maybeNumber reports whether a plain scalar could be a number or a time.
func maybeNumber(s string) bool {
	return s != "" && strings.IndexByte("0123456789+-.", s[0]) >= 0 &&
		strings.ContainsAny(s, "0123456789") && strings.Count(s, ".") <= 1 && strings.Count(s, "-") <= 3 &&
		strings.Trim(s, "0123456789abcdefABCDEFxXoO_+-.:tTzZ ") == ""
}

// maybeTyped reports whether a plain scalar could resolve to something other
// than a string.
func maybeTyped(s string) bool {
	_, isWord := word(s)
	return isWord || maybeNumber(s)
}
