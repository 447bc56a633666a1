// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// WriteJSON writes a value for programs.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// WriteJSONLine writes a value as one line, such as an event of a stream.
func WriteJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// WriteYAML writes a value for programs, with the fields of its JSON.
func WriteYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A reader of YAML refuses control characters, some of which JSON leaves as they are.
	b, err := yaml.JSONToYAML(EscapeText(text))
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// longText is a line of JSON with a string of several lines.
var longText = regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*": )?("(?:[^"\\]|\\.)*\\n(?:[^"\\]|\\.)*"),?$`)

// unfolded shows strings of several lines line by line, so that a diff shows what
// changes in a manifest and not the whole of it. The result is for people alone; from has
// for each of its lines the one that it was before, from 1 on.
func unfolded(text string) (out string, from []int) {
	var b strings.Builder
	at := 0
	for line := range strings.Lines(text) {
		at++
		m := longText.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		var value string
		if m == nil || json.Unmarshal([]byte(m[3]), &value) != nil {
			b.WriteString(line)
			from = append(from, at)
			continue
		}
		parts := strings.Split(value, "\n") // one more than without a last break
		b.WriteString(m[1] + m[2] + "|\n")
		for _, part := range parts {
			b.WriteString(m[1] + "  " + part + "\n")
		}
		from = append(from, slices.Repeat([]int{at}, 1+len(parts))...)
	}
	return b.String(), from
}
