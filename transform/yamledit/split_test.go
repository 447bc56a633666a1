// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAStreamIsCutWhereKubectlCutsIt(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"nothing":                         {"", []string{""}},
		"one document":                    {"a: 1\n", []string{"a: 1\n"}},
		"two":                             {"a: 1\n---\nb: 2\n", []string{"a: 1\n", "---\nb: 2\n"}},
		"a comment before the marker":     {"# a\n\n---\nb: 2\n", []string{"# a\n\n---\nb: 2\n"}},
		"a directive before the marker":   {"%YAML 1.1\n---\nb: 2\n", []string{"%YAML 1.1\n---\nb: 2\n"}},
		"an empty document":               {"---\n# a\n---\nb: 2\n", []string{"---\n# a\n", "---\nb: 2\n"}},
		"a marker at the end":             {"a: 1\n---", []string{"a: 1\n", "---"}},
		"a marker with a comment":         {"a: 1\n--- # b\nb: 2\n", []string{"a: 1\n", "--- # b\nb: 2\n"}},
		"CRLF":                            {"a: 1\r\n---\r\nb: 2\r\n", []string{"a: 1\r\n", "---\r\nb: 2\r\n"}},
		"a byte order mark":               {bom + "# a\n---\nb: 2\n---\n", []string{bom + "# a\n---\nb: 2\n", "---\n"}},
		"an end marker alone":             {"a: 1\n...\nb: 2\n", []string{"a: 1\n...\nb: 2\n"}},
		"another line break":              {"a: 1\r---\rb: 2\r", []string{"a: 1\r---\rb: 2\r"}},
		"a longer word":                   {"a: 1\n---b\n----\n", []string{"a: 1\n---b\n----\n"}},
		"a marker that is indented":       {"a: |\n  b\n ---\n", []string{"a: |\n  b\n ---\n"}},
		"content that looks like nothing": {" \t\n\n  x\n---\n", []string{" \t\n\n  x\n", "---\n"}},
	} {
		var got []string
		for _, chunk := range Split("f", []byte(c.stream)) {
			got = append(got, string(chunk.Bytes))
		}
		assert.EqualSlices(t, got, c.want, name)
	}
}

func TestADocumentThatKubectlDoesNotReadIsRefused(t *testing.T) {
	for stream, line := range map[string]string{
		"a: 1\n...\nb: 2\n":         "f:3: ",
		"a: 1\r---\rb: 2\r":         "f:2: ",
		"# a\ra: 1\n---\n...\nb: 2": "f:3: ",
	} {
		chunk := Split("f", []byte(stream))[0]
		_, err := Parse(chunk)
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), line), "%q: %v", stream, err)
	}
}
