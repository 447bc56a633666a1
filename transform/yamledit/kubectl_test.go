// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheObjectsAreThoseThatKubectlApplies(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a document":                        {"a: 1\n", `{"a":1}`},
		"two, and empty ones":               {"---\n# x\n---\na: 1\n---\n---\nb: 2\n", `{"a":1}{"b":2}`},
		"JSON, one after the other":         {"{\"a\": 1}\n{\"b\": 2}{\"c\": 3}", `{"a":1}{"b":2}{"c":3}`},
		"JSON before YAML":                  {"{\"a\": 1}\nb: 2\n", `{"a":1}{"b":2}`},
		"escapes":                           {`{"a": "\x62"}` + "\n---\na: \"\\x63\"\n", `{"a":"b"}{"a":"c"}`},
		"UTF-16":                            {"\xfe\xff\x00a\x00:\x00 \x00b\x00\n", `{"a":"b"}`},
		"what follows an end marker":        {"a: 1\n...\nb: 2\n", `{"a":1}`},
		"what precedes an error":            {"a: 1\n---\nb: 2\n--- x\nc: 3\n", `{"a":1}`},
		"a list":                            {"kind: List\nitems: [{kind: A, apiVersion: v1}, {kind: B, apiVersion: v1}]\n", `{"apiVersion":"v1","kind":"A"}{"apiVersion":"v1","kind":"B"}`},
		"a list that gives its kind":        {"kind: ClusterList\napiVersion: p/v1\nitems: [{a: 1}]\n", `{"a":1,"apiVersion":"p/v1","kind":"Cluster"}`},
		"anything with items":               {"kind: ConfigMap\nitems: [{kind: A, apiVersion: v1}]\n", `{"apiVersion":"v1","kind":"A"}`},
		"items that are none":               {"kind: A\nitems:\n---\nitems: {a: b}\n---\nitems: [1]\n", `null`},
		"a value that is none of an object": {"- a\n---\nb\n", `nullnull`},
	} {
		var got strings.Builder
		for _, object := range KubectlObjects(Chunk{Bytes: []byte(c.text)}) {
			text := assert.Value(json.Marshal(object))(t)
			got.Write(text)
		}
		assert.Equal(t, got.String(), c.want, name)
	}
}
