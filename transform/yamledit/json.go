// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// JSON returns the node's Value as JSON, with keys in the order of the file, for
// decoding into another type. A node that does not exist is null.
func (n Node) JSON() []byte {
	if n.y == nil {
		return []byte("null")
	}
	return appendJSON(make([]byte, 0, len(n.doc.chunk.Bytes)), n.y)
}

func appendJSON(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(b, n.Alias)
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			b = appendJSON(appendComma(b, i), c)
		}
		return append(b, ']')
	case yaml.MappingNode:
		b = append(b, '{')
		for i, p := range pairs(n) {
			b = append(appendText(appendComma(b, i), keyText(p.key)), ':')
			b = appendJSON(b, p.value)
		}
		return append(b, '}')
	}
	return appendScalar(b, n)
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendScalar(b []byte, n *yaml.Node) []byte {
	if isText(n) {
		return appendText(b, n.Value)
	}
	text, err := json.Marshal(scalarValue(n))
	if err != nil { // not reached: the value came from JSON
		return appendText(b, n.Value)
	}
	return append(b, text...)
}

// appendText quotes a string; most need nothing escaped.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, jsonText(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
