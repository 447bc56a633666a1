// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"fmt"
	"slices"
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

// itemLists are lists of two objects in the layouts of kubectl and of people.
var itemLists = map[string]string{
	"of kubectl":         "apiVersion: v1\nitems:\n- apiVersion: a/v1\n  kind: A\n  spec:\n    args:\n    - x # why\n- apiVersion: a/v1\n  kind: A\n  # of b\n  spec: {args: [y]}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
	"indented":           "kind: AList\napiVersion: a/v1\nitems:\n    -   kind: A\n        apiVersion: a/v1\n        spec:\n            args: [x]\n    # the second\n    -\n        kind: A\n        apiVersion: a/v1\n        spec: {}\n",
	"in JSON":            "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": \"v1\", \"kind\": \"A\",\n            \"spec\": {\n                \"args\": [\n                    \"x\"\n                ]\n            }\n        },\n        {\"apiVersion\": \"v1\", \"kind\": \"A\", \"spec\": {}}\n    ],\n    \"kind\": \"List\"\n}\n",
	"on one line":        `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"A","spec":{"args":["x"]}},{"apiVersion":"v1","kind":"A","spec":{}}],"kind":"List"}`,
	"without a break":    "kind: List\napiVersion: v1\nitems:\n- kind: A\n  apiVersion: v1\n  spec: {}\n- kind: A\n  apiVersion: v1\n  spec:\n    a: 1",
	"in flow style":      "kind: List\nitems: [{kind: A, apiVersion: v1, spec: {}}, {kind: A, apiVersion: v1, spec: {}}]\n",
	"of Windows, marked": "# head\r\n---\r\nkind: List\r\nitems:\r\n- kind: A\r\n  apiVersion: v1\r\n  spec: {}\r\n- kind: A\r\n  apiVersion: v1\r\n  spec: {}\r\n",
}

func TestItemsOfAListAreEditedByThemselves(t *testing.T) {
	for name, text := range itemLists {
		t.Run(name, func(t *testing.T) {
			whole := Chunk{File: "in.yaml", Line: 3, Offset: 100, Bytes: []byte(text)}
			items := Items(whole, Parse)
			assert.Mustf(t, len(items) == 2, "%d items", len(items))
			out, at := []byte{}, 0
			for i, c := range items {
				d := assert.Value(Parse(c))(t)
				n := d.Root().Get("kind")
				s, _ := n.String()
				assert.Truef(t, s == "A" && d.Root().Path() == "" && n.Path() == "kind", "item %d is a %s at %s", i, s, n.Path())
				start, _ := n.Span()
				line := 3 + 1 + CountLines([]byte(text[:c.Offset-100+start]))
				assert.Truef(t, n.Line() == line, "item %d: line %d instead of %d", i, n.Line(), line)
				e := d.Edit()
				e.Insert(d.Root().Get("spec"), "new", fmt.Sprintf("value %d", i))
				after, splices, err := e.Apply()
				assert.NilError(t, err)
				assert.NilError(t, restores(d, after, splices))
				alone := assert.Value(ParseString("own.yaml", string(after.Standalone())))(t)
				assert.Equal(t, asJSON(alone.Root().Value()), asJSON(after.Root().Value()), "as a file of its own")
				out = slices.Concat(out, []byte(text[at:c.Offset-100]), after.Bytes())
				at = c.Offset - 100 + len(c.Bytes)
			}
			out = append(out, text[at:]...)
			before := assert.Value(read([]byte(text)))(t)
			for i, item := range before.(map[string]any)["items"].([]any) {
				item.(map[string]any)["spec"].(map[string]any)["new"] = fmt.Sprintf("value %d", i)
			}
			got, err := read(out)
			assert.Truef(t, err == nil && asJSON(got) == asJSON(before), "%v\n%s", err, out)
		})
	}
}

func TestWhatIsNoListOfObjectsIsOneDocument(t *testing.T) {
	for name, text := range map[string]string{
		"an object":                         "kind: A\nitems: [{kind: B}]\n",
		"an empty list":                     "kind: List\nitems: []\n",
		"a list of other things":            "kind: List\nitems: [1, {kind: A}]\n",
		"an encrypted one":                  "kind: List\nitems: [{kind: A}]\nsops: {mac: x}\n",
		"an item with a neighbour's anchor": "kind: List\nitems:\n- &a {kind: A, apiVersion: v1}\n- *a\n",
		"an anchor within":                  "kind: List\nitems:\n- {kind: A, apiVersion: v1, spec: &s {}}\n- {kind: A, apiVersion: v1, spec: *s}\n",
		"an item without a kind":            "kind: AList\napiVersion: v1\nitems: [{apiVersion: v1}]\n",
		"an item without a version":         "kind: AList\napiVersion: v1\nitems: [{kind: A}]\n",
		"no YAML":                           "kind: List\nitems: [\n",
	} {
		c := Chunk{File: "in.yaml", Bytes: []byte(text)}
		items := Items(c, Parse)
		assert.Truef(t, len(items) == 1 && items[0].Item == 0 && bytes.Equal(items[0].Bytes, c.Bytes), "%s: %d chunks", name, len(items))
	}
}

func TestAListOfManyIsCutInOneGo(t *testing.T) {
	text := "kind: List\nitems:\n" + strings.Repeat("- kind: A\n  apiVersion: v1\n  spec: {a: 1}\n", 2000)
	assert.Equal(t, len(Items(Chunk{Bytes: []byte(text)}, Parse)), 2000)
}
