// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// edited applies one edit and checks that its reverse restores the input.
func edited(t *testing.T, in string, change func(*Edit, Node)) (string, error) {
	t.Helper()
	d, err := ParseString("in.yaml", in)
	if err != nil {
		return "", err
	}
	e := d.Edit()
	change(e, d.Root())
	after, splices, err := e.Apply()
	if err != nil {
		return "", err
	}
	return string(after.Bytes()), restores(d, after, splices)
}

type editCase struct {
	name, in string
	change   func(*Edit, Node)
	want     string
}

func runEdits(t *testing.T, cases []editCase) {
	t.Helper()
	for _, c := range cases {
		assert.Equal(t, assert.Value(edited(t, c.in, c.change))(t), c.want, c.name)
	}
}

func set(v any, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.Set(n.Get(keys...), v) }
}

func add(key string, v any, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.Insert(n.Get(keys...), key, v) }
}

func appendTo(v any, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.Append(n.Get(keys...), v) }
}

func first(v any, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.InsertItem(n.Get(keys...), 0, v) }
}

func drop(keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.Remove(n.Get(keys...)) }
}

func dropItem(i int, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.Remove(n.Get(keys...).Items()[i]) }
}

// after adds an entry after that of a key.
func after(key, added string, v any, keys ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) { e.InsertAfter(n.Get(append(keys, key)...), added, v) }
}

// all makes several changes in one edit.
func all(changes ...func(*Edit, Node)) func(*Edit, Node) {
	return func(e *Edit, n Node) {
		for _, change := range changes {
			change(e, n)
		}
	}
}

// inText changes the last document of the YAML in a string.
func inText(key string, change func(*Edit, Node)) func(*Edit, Node) {
	return func(e *Edit, n Node) {
		if in, err := e.Embedded(n.Get(key)); err == nil {
			last := len(in.Documents()) - 1
			change(in.Edit(last), in.Documents()[last].Root())
		}
	}
}

// join appends documents to the YAML in a string.
func join(key string, docs ...string) func(*Edit, Node) {
	return func(e *Edit, n Node) {
		if in, err := e.Embedded(n.Get(key)); err == nil {
			for _, text := range docs {
				in.Append(text)
			}
		}
	}
}

func TestSetReplacesOneValueAndNothingElse(t *testing.T) {
	runEdits(t, []editCase{
		{"a plain scalar stays plain", "a: aws # in-tree\nb: 1\n", set("external", "a"), "a: external # in-tree\nb: 1\n"},
		{"double quotes stay", "a: \"aws\"\n", set("external", "a"), "a: \"external\"\n"},
		{"single quotes stay", "a: 'aws'   # why\n", set("external", "a"), "a: 'external'   # why\n"},
		{"a word that YAML 1.1 reads as a boolean is quoted", "a: aws\n", set("yes", "a"), "a: \"yes\"\n"},
		{"a boolean is not quoted", "a: false\n", set(true, "a"), "a: true\n"},
		{"a null that is left out gets a value after the colon", "a:\nb: 1\n", set("x", "a"), "a: x\nb: 1\n"},
		{"a null that is left out keeps its comment", "a: # none yet\nb: 1\n", set("x", "a"), "a: x # none yet\nb: 1\n"},
		{"columns are counted in runes, not in bytes", "{ü: \"é\", b: aws}\n", set("external", "b"), "{ü: \"é\", b: external}\n"},
		{"a byte order mark is not counted", "\ufeffa: aws\nb: 1\n", set("external", "a"), "\ufeffa: external\nb: 1\n"},
		{"a byte order mark before a flow mapping is not counted", "\ufeff{a: aws}\n", set("external", "a"), "\ufeff{a: external}\n"},
		{"CR alone breaks lines", "a: 1\rb: aws\r", set("external", "b"), "a: 1\rb: external\r"},
		{"CRLF stays", "a: 1\r\nb: aws\r\n", set("external", "b"), "a: 1\r\nb: external\r\n"},
		{"the line separators of YAML 1.1 count as lines", "a: 1 # x\u2028b: 2\u0085c: aws\n", set("external", "c"), "a: 1 # x\u2028b: 2\u0085c: external\n"},
		{"a tagged scalar loses its tag with its value", "a: !!str aws\n", set("external", "a"), "a: external\n"},
		{"a value on the line below its key stays there", "a:\n  aws\nb: 1\n", set("external", "a"), "a:\n  external\nb: 1\n"},
		{"a comment may be between key and value", "a: # which\n  aws\n", set("external", "a"), "a: # which\n  external\n"},
		{"a plain scalar of several lines is one value", "a: one\n  two\n  three # c\nb: 1\n", set("x", "a"), "a: x # c\nb: 1\n"},
		{"a plain scalar of several lines may hold blank lines", "a: one\n\n  two\nb: 1\n", set("x", "a"), "a: x\nb: 1\n"},
		{"a literal block becomes a plain scalar", "a: |-\n  x\n  y\nb: 1\n", set("z", "a"), "a: z\nb: 1\n"},
		{"a folded block becomes a plain scalar", "a: >\n  x\n  y\n\nb: 1\n", set("z", "a"), "a: z\n\nb: 1\n"},
		{"a key may have blanks in front of its colon", "\"a\" : aws\n", set("external", "a"), "\"a\" : external\n"},
		{"an escaped quote does not end a scalar", `a: "x\"y" # c` + "\n", set("z", "a"), `a: "z" # c` + "\n"},
		{"a doubled quote does not end a scalar", "a: 'x''y' # c\n", set("it's", "a"), "a: 'it''s' # c\n"},
		{"a scalar becomes a list below its key", "m:\n  a: one # why\n  b: 1\n", set([]string{"one", "two"}, "m", "a"), "m:\n  a: # why\n    - one\n    - two\n  b: 1\n"},
		{"an empty list becomes a block list", "m:\n  a: [] # none\n  b: 1\n", set([]string{"x"}, "m", "a"), "m:\n  a: # none\n    - x\n  b: 1\n"},
		{"braces on a line of their own become a mapping", "m:\n  {}\nb: 1\n", set(Map{{"x", "v"}}, "m"), "m:\n  x: v\nb: 1\n"},
		{"an empty string becomes a literal block", "m:\n  a: \"\"\nb: 1\n", set("x: 1\n---\ny: 2", "m", "a"), "m:\n  a: |-\n    x: 1\n    ---\n    y: 2\nb: 1\n"},
		{"text with a final break is clipped, not stripped", "a: ''\nb: 1\n", set("x\ny\n", "a"), "a: |\n  x\n  y\nb: 1\n"},
		{"text with more final breaks keeps them", "a: ''\nb: 1\n", set("x\ny\n\n", "a"), "a: |+\n  x\n  y\n\nb: 1\n"},
		{"text with a final break at the end of a file without one", "m: x", set("x: 1\ny: 2\n", "m"), "m: |\n  x: 1\n  y: 2\n"},
		{"an item of a list is replaced", "a:\n  - one # 1\n  - two\n", func(e *Edit, n Node) { e.Set(n.Get("a").Items()[0], "x=y") }, "a:\n  - x=y # 1\n  - two\n"},
		{"JSON stays JSON", `{"a": "aws", "b": 1}`, set("external", "a"), `{"a": "external", "b": 1}`},
		{"JSON on one line gets a list on one line", `{"a":"x","b":1}`, set([]string{"x", "y"}, "a"), `{"a":["x","y"],"b":1}`},
		{"a document after a marker and a comment", "# head\n--- # doc\na: aws\n...\n", set("external", "a"), "# head\n--- # doc\na: external\n...\n"},
	})
}

func TestInsertAddsAKeyWhereItBelongs(t *testing.T) {
	runEdits(t, []editCase{
		{"at the end of a mapping", "m:\n  a: 1\n  b: 2\nz: 1\n", add("c", "x", "m"), "m:\n  a: 1\n  b: 2\n  c: x\nz: 1\n"},
		{"after the last content line, before trailing comments", "m:\n  a: 1\n  # tail\n\nz: 1\n", add("c", "x", "m"), "m:\n  a: 1\n  c: x\n  # tail\n\nz: 1\n"},
		{"in its place among three sorted keys", "b: 1\nd: 1\nf: 1\n", add("c", "x"), "b: 1\nc: x\nd: 1\nf: 1\n"},
		{"after the comment of the key before, not before the comment of the next", "a: 1 # a\n# about c\nc: 1\nd: 1\n", add("b", "x"), "a: 1 # a\nb: x\n# about c\nc: 1\nd: 1\n"},
		{"without a final line break", "a: 1", add("b", "x"), "a: 1\nb: x"},
		{"after a literal block", "m:\n  a: |\n    x\n\n    y\n\nz: 1\n", add("b", "x", "m"), "m:\n  a: |\n    x\n\n    y\n  b: x\n\nz: 1\n"},
		{"after the blank lines that |+ keeps", "m:\n  a: |+\n    x\n\n\nz: 1\n", add("b", "x", "m"), "m:\n  a: |+\n    x\n\n\n  b: x\nz: 1\n"},
		{"after white space that is content of a literal block", "m:\n  a: |\n    x\n      \nz: 1\n", add("b", "x", "m"), "m:\n  a: |\n    x\n      \n  b: x\nz: 1\n"},
		{"after a folded block", "m:\n  a: >-\n    x\n    y\nz: 1\n", add("b", "x", "m"), "m:\n  a: >-\n    x\n    y\n  b: x\nz: 1\n"},
		{"after a clipped block at the end of a file without a break", "a: |\n  x", add("b", "v"), "a: |-\n  x\nb: v"},
		{"a block that ends with a break, without a final break", "a: 1", add("b", "x\ny\n"), "a: 1\nb: |\n  x\n  y\n"},
		{"after a null that is left out", "m:\n  a: # none\nz: 1\n", add("b", "x", "m"), "m:\n  a: # none\n  b: x\nz: 1\n"},
		{"after a quoted scalar of several lines", "m:\n  a: \"x\n    y\" # c\nz: 1\n", add("b", "x", "m"), "m:\n  a: \"x\n    y\" # c\n  b: x\nz: 1\n"},
		{"after a flow collection of several lines", "m:\n  a: [x, # 1\n    y\n  ] # c\nz: 1\n", add("b", "x", "m"), "m:\n  a: [x, # 1\n    y\n  ] # c\n  b: x\nz: 1\n"},
		{"after a clipped block in the middle of a file without a break", "m:\n  a: |\n    x\nz: 1", add("b", "v", "m"), "m:\n  a: |\n    x\n  b: v\nz: 1"},
		{"two keys after a clipped block at the end of a file without a break", "a: |\n  x", all(add("b", "v"), add("c", "w")), "a: |-\n  x\nb: v\nc: w"},
		{"after an alias", "x: &x 1\nm:\n  a: *x # c\nz: 1\n", add("b", "v", "m"), "x: &x 1\nm:\n  a: *x # c\n  b: v\nz: 1\n"},
		{"in four-space style", "m:\n    a:\n        b: 1\n", add("c", Map{{"d", "x"}}, "m"), "m:\n    a:\n        b: 1\n    c:\n        d: x\n"},
		{"a list in compact style", "m:\n  a:\n  - 1\n", add("c", []string{"x"}, "m"), "m:\n  a:\n  - 1\n  c:\n  - x\n"},
		{"in an item that starts on the line of its dash", "- a: 1\n  b: 2\n- c: 1\n", func(e *Edit, n Node) { e.Insert(n.Items()[0], "z", "x") }, "- a: 1\n  b: 2\n  z: x\n- c: 1\n"},
		{"in an empty mapping", "m: {} # none\nz: 1\n", add("a", "x", "m"), "m: # none\n  a: x\nz: 1\n"},
		{"in a flow mapping", "m: {a: 1, b: 2} # c\n", add("c", "x", "m"), "m: {a: 1, b: 2, c: x} # c\n"},
		{"in a flow mapping with blanks inside its braces", "m: { a: 1 }\n", add("b", true, "m"), "m: { a: 1, b: true }\n"},
		{"in a flow mapping with a trailing comma", "m: {a: 1, }\n", add("b", "x", "m"), "m: {a: 1, b: x, }\n"},
		{"in a flow mapping of several lines, after a comment", "m: {\n  a: 1 # one\n}\n", add("b", "x", "m"), "m: {\n  a: 1, # one\n  b: x\n}\n"},
		{"in a flow mapping of several lines with a trailing comma", "m: {\n  a: 1, # one\n}\n", add("b", "x", "m"), "m: {\n  a: 1, # one\n  b: x,\n}\n"},
		{"in JSON of several lines", "{\n  \"m\": {\n    \"a\": [\n      \"x\"\n    ]\n  }\n}\n", add("b", []string{"v"}, "m"), "{\n  \"m\": {\n    \"a\": [\n      \"x\"\n    ],\n    \"b\": [\n      \"v\"\n    ]\n  }\n}\n"},
		{"in JSON on one line", `{"m":{"a":1}}`, add("b", Map{{"c", "x"}}, "m"), `{"m":{"a":1,"b":{"c":"x"}}}`},
		{"in an empty JSON object", "{\n  \"m\": {}\n}\n", add("a", "x", "m"), "{\n  \"m\": {\n    \"a\": \"x\"\n  }\n}\n"},
		{"a list as wide as the others", "a:\n    -   x: 1\nm:\n    k: 1\n", add("b", []string{"v"}, "m"), "a:\n    -   x: 1\nm:\n    k: 1\n    b:\n        -   v\n"},
		{"the first list, indented as mappings are", "m:\n    k: 1\n", add("b", []string{"v"}, "m"), "m:\n    k: 1\n    b:\n        - v\n"},
		{"with the line breaks of the file", "m:\r\n  a: 1\r\nz: 1\r\n", add("b", []string{"x"}, "m"), "m:\r\n  a: 1\r\n  b:\r\n    - x\r\nz: 1\r\n"},
		{"after a given entry", "a: 1\nc: 3\n", after("a", "b", true), "a: 1\nb: true\nc: 3\n"},
		{"a literal block in the middle", "m:\n  a: 1\nz: 1\n", add("b", "x: 1\ny: 2", "m"), "m:\n  a: 1\n  b: |-\n    x: 1\n    y: 2\nz: 1\n"},
		{"two keys in the order of the calls", "a: 1\n", all(add("x", "1"), add("v", true)), "a: 1\nx: \"1\"\nv: true\n"},
		{"after a given entry, unless the keys are sorted", "a: 1\nc: 3\nd: 4\n", after("d", "b", true), "a: 1\nb: true\nc: 3\nd: 4\n"},
		{"a literal block, where it swallows no comment", "m:\n  b: 1\n  a: 2\n    # deep\nz: 1\n", add("c", "x\ny", "m"), "m:\n  b: 1\n  c: |-\n    x\n    y\n  a: 2\n    # deep\nz: 1\n"},
		{"in a mapping with a tag", "m: !!map\n  a: 1\nz: 1\n", add("b", "x", "m"), "m: !!map\n  a: 1\n  b: x\nz: 1\n"},
	})
}

func TestPutMakesTheMappingsThatAreMissing(t *testing.T) {
	put := func(e *Edit, root Node) { e.Put(root, 1, "a", "b", "c") }
	runEdits(t, []editCase{
		{"the value", "a:\n  b:\n    c: 2\n", put, "a:\n  b:\n    c: 1\n"},
		{"a key", "a:\n  b:\n    d: 2\n", put, "a:\n  b:\n    d: 2\n    c: 1\n"},
		{"one mapping", "a:\n  d: 2\n", put, "a:\n  d: 2\n  b:\n    c: 1\n"},
		{"all mappings", "d: 2\n", put, "d: 2\na:\n  b:\n    c: 1\n"},
		{"what is no mapping", "a:\n  b: []\n", put, "a:\n  b:\n    c: 1\n"},
		{"null", "a:\n", put, "a:\n  b:\n    c: 1\n"},
	})
}

func TestALiteralBlockTakesNothingThatFollows(t *testing.T) {
	runEdits(t, []editCase{
		{"blanks at the end", "a: 1\nb: 2\n    \n", add("t", "x\ny"), "a: 1\nt: |-\n  x\n  y\nb: 2\n    \n"},
		{"blanks that are no deeper than its text", "a: 1\n  \n", add("t", "x\ny"), "a: 1\nt: |-\n  x\n  y\n  \n"},
		{"blanks after what is set", "a: 1\nt: \"\"\n    \n", set("x\ny", "t"), "a: 1\nt: \"x\\ny\"\n    \n"},
		{"a comment after what is set", "t:\n  # of the end\n", set("x\ny", "t"), "t: \"x\\ny\"\n  # of the end\n"},
	})
}

func TestAppendAndInsertItemKeepTheListsStyle(t *testing.T) {
	runEdits(t, []editCase{
		{"indented dashes", "a:\n  - x\nb: 1\n", appendTo("v", "a"), "a:\n  - x\n  - v\nb: 1\n"},
		{"dashes in the column of the key", "a:\n- x\nb: 1\n", appendTo("v", "a"), "a:\n- x\n- v\nb: 1\n"},
		{"wide dashes", "a:\n-   x\n", appendTo("v", "a"), "a:\n-   x\n-   v\n"},
		{"a dash alone on its line", "a:\n  -\n    x\nb: 1\n", appendTo("v", "a"), "a:\n  -\n    x\n  - v\nb: 1\n"},
		{"an item that is null", "a:\n  - x\n  -\nb: 1\n", appendTo("v", "a"), "a:\n  - x\n  -\n  - v\nb: 1\n"},
		{"before comments after the list", "a:\n  - x # 1\n  # - z\nb: 1\n", appendTo("v", "a"), "a:\n  - x # 1\n  - v\n  # - z\nb: 1\n"},
		{"without a final line break", "a:\n  - x", appendTo("v", "a"), "a:\n  - x\n  - v"},
		{"a flow list", "a: [x, y] # c\n", appendTo("z", "a"), "a: [x, y, z] # c\n"},
		{"a flow list with a trailing comma", "a: [x, y, ]\n", appendTo("z", "a"), "a: [x, y, z, ]\n"},
		{"a flow list over several lines that ends on the last item's line", "a: [\n  x,\n  y]\n", appendTo("z", "a"), "a: [\n  x,\n  y,\n  z]\n"},
		{"an argument with a comma is quoted in flow style", "a: [x]\n", appendTo("f=A=true,B=false", "a"), "a: [x, \"f=A=true,B=false\"]\n"},
		{"an empty flow list", "m:\n  a: []\nb: 1\n", appendTo("x", "m", "a"), "m:\n  a:\n    - x\nb: 1\n"},
		{"an argument that starts with two dashes stays plain", "a:\n  - --x=1\n", appendTo("--y=true", "a"), "a:\n  - --x=1\n  - --y=true\n"},
		{"the file's own quotes are used", "a:\n  - 'x y'\n", appendTo("true", "a"), "a:\n  - 'x y'\n  - 'true'\n"},
		{"a mapping as first item, before the first item's comment", "a:\n  # one\n  - x: 1\n", first(Map{{"k", []string{"v"}}, {"l", Map{}}}, "a"), "a:\n  - k:\n      - v\n    l: {}\n  # one\n  - x: 1\n"},
		{"a first item in compact style", "a:\n- x: 1\n  y:\n  - 2\n", first(Map{{"k", []string{"v"}}}, "a"), "a:\n- k:\n  - v\n- x: 1\n  y:\n  - 2\n"},
		{"a first item in a list inside of a list", "- - x\n  - y\n", func(e *Edit, n Node) { e.InsertItem(n.Items()[0], 0, "w") }, "- - w\n  - x\n  - y\n"},
		{"a first item in a flow list", "a: [x]\n", first("w", "a"), "a: [w, x]\n"},
		{"a first item in JSON", "{\n  \"a\": [\n    {\n      \"x\": 1\n    }\n  ]\n}\n", first(Map{{"k", []string{"v"}}}, "a"), "{\n  \"a\": [\n    {\n      \"k\": [\n        \"v\"\n      ]\n    },\n    {\n      \"x\": 1\n    }\n  ]\n}\n"},
		{"first and last at once", "a:\n  - x\n", all(first("w", "a"), appendTo("z", "a")), "a:\n  - w\n  - x\n  - z\n"},
		{"after an item that ends with a literal block", "a:\n  - x: |\n      t\n\nb: 1\n", appendTo("v", "a"), "a:\n  - x: |\n      t\n  - v\n\nb: 1\n"},
	})
}

func TestRemoveTakesOneMemberAndItsLines(t *testing.T) {
	runEdits(t, []editCase{
		{"an entry", "a: 1\nb: 2 # two\nc: 3\n", drop("b"), "a: 1\n# two\nc: 3\n"},
		{"an entry with all that is below it", "a: 1\nb:\n  - x\n  - y: |\n      t\n\n# c\nc: 3\n", drop("b"), "a: 1\n\n# c\nc: 3\n"},
		{"the last entry of a file without a final break", "a: 1\nb: 2", drop("b"), "a: 1"},
		{"the first entry of an item gives its place to the next", "- a: 1\n  b: 2\n", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }, "- b: 2\n"},
		{"the first entry of an item gives its place to the comment of the next", "- a:\n    x: 1\n  # about b\n  b: 2\n", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }, "- # about b\n  b: 2\n"},
		{"the only entry leaves braces", "m:\n  a: 1\nz: 1\n", drop("m", "a"), "m: {}\nz: 1\n"},
		{"the only entry of an item leaves braces", "- a: 1\n- b: 2\n", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }, "- {}\n- b: 2\n"},
		{"an item", "a:\n  - x\n  - y # why\n  - z\n", dropItem(1, "a"), "a:\n  - x\n  # why\n  - z\n"},
		{"the first item", "a:\n  - x\n  - y\n", dropItem(0, "a"), "a:\n  - y\n"},
		{"the only item leaves brackets, and the comments", "a: # args\n  # which\n  - x\nb: 1\n", dropItem(0, "a"), "a: [] # args\n  # which\nb: 1\n"},
		{"an item of a flow list", "a: [x, y, z]\n", dropItem(1, "a"), "a: [x, z]\n"},
		{"the last item of a flow list", "a: [x, y]\n", dropItem(1, "a"), "a: [x]\n"},
		{"the last item of a flow list with a trailing comma", "a: [x, y, ]\n", dropItem(1, "a"), "a: [x, ]\n"},
		{"the only item of a flow list", "a: [ x ] # c\n", dropItem(0, "a"), "a: [] # c\n"},
		{"the last line of a flow list of several lines", "a: [\n  x, # x\n  y\n]\n", dropItem(1, "a"), "a: [\n  x # x\n]\n"},
		{"a key of JSON", "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n", drop("b"), "{\n  \"a\": 1\n}\n"},
		{"a first key of JSON", `{"a": 1, "b": 2}`, drop("a"), `{"b": 2}`},
		{"two entries", "a: 1\nb: 2\nc: 3\n", all(drop("a"), drop("c")), "b: 2\n"},
		{"the last entry without a final break, after a block that keeps its own", "a: |\n  x\nb: 2", drop("b"), "a: |\n  x\n"},
		{"the last two entries without a final break", "a: 1\nb: 2\nc: 3", all(drop("b"), drop("c")), "a: 1"},
		{"the ends of two collections without a final break", "m:\n  a: 1\n  b: 2\nn: 3", all(drop("m", "b"), drop("n")), "m:\n  a: 1"},
		{"the same with the breaks of Windows", "m:\r\n  a: 1\r\n  b: 2\r\nn: 3", all(drop("m", "b"), drop("n")), "m:\r\n  a: 1"},
		{"an entry, while another is added", "m:\n  a: 1\n  b: 2\n", all(drop("m", "b"), add("c", "x", "m")), "m:\n  a: 1\n  c: x\n"},
		{"all items, while another is added", "a:\n  - w\n  - x # why\nb: 1\n", all(dropItem(0, "a"), dropItem(1, "a"), appendTo("z", "a")), "a:\n  # why\n  - z\nb: 1\n"},
		{"the only item at the end of a file without a break, while another is added", "a:\n  - x", all(dropItem(0, "a"), appendTo("z", "a")), "a:\n  - z"},
		{"all items of a flow list, while another is added", "a: [w, x] # c\n", all(dropItem(0, "a"), dropItem(1, "a"), appendTo("z", "a")), "a: [z] # c\n"},
		{"an item in the middle of JSON", `["a", "b", "c"]`, func(e *Edit, n Node) { e.Remove(n.Items()[1]) }, `["a", "c"]`},
	})
}

func TestJSONInSingleQuotesIsEditedInPlace(t *testing.T) {
	runEdits(t, []editCase{
		{"an item", `v: '{"args": ["--v=2"], "name": "it''s"}' # why` + "\n", inText("v", appendTo("--f", "args")), `v: '{"args": ["--v=2", "--f"], "name": "it''s"}' # why` + "\n"},
		{"a value with a quote", `v: '{"name": "it''s"}'` + "\n", inText("v", set("we're", "name")), `v: '{"name": "we''re"}'` + "\n"},
	})
}

func TestJSONKeepsItsStepAndItsTabs(t *testing.T) {
	const step, tabs = "{\n    \"a\": {\n        \"b\": []\n    }\n}\n", "{\n\t\"a\": {\n\t\t\"b\": [\n\t\t\t\"x\"\n\t\t]\n\t},\n\t\"c\": []\n}\n"
	runEdits(t, []editCase{
		{"an item after four spaces each", step, appendTo("y", "a", "b"), strings.Replace(step, "[]", "[\n            \"y\"\n        ]", 1)},
		{"an item", tabs, appendTo("y", "a", "b"), strings.Replace(tabs, "\"x\"", "\"x\",\n\t\t\t\"y\"", 1)},
		{"a key with a list", tabs, add("d", []any{"y"}, "a"), strings.Replace(tabs, "\t\t]\n", "\t\t],\n\t\t\"d\": [\n\t\t\t\"y\"\n\t\t]\n", 1)},
		{"a list that was empty", tabs, appendTo("y", "c"), strings.Replace(tabs, "[]", "[\n\t\t\"y\"\n\t]", 1)},
		{"a mapping that takes the place of a scalar", "{\n\t\"a\": 1\n}\n", set(Map{{"k", "v"}}, "a"), "{\n\t\"a\": {\n\t\t\"k\": \"v\"\n\t}\n}\n"},
	})
}

func TestSeveralChangesOfOneEditAreSideBySide(t *testing.T) {
	runEdits(t, []editCase{
		{"a key after a mapping, and an item at the end of its last list", "m:\n  l:\n    - x\nz: 1\n", all(add("k", true, "m"), appendTo("w", "m", "l")), "m:\n  l:\n    - x\n    - w\n  k: true\nz: 1\n"},
		{"a key in the place of one that goes", "b: 1\na: 2\nc: 3\n", all(drop("a"), after("b", "k", true)), "b: 1\nk: true\nc: 3\n"},
		{"a key in the place of the last one of a file without a break", "a: 1\nb: 2", all(drop("b"), after("a", "k", true)), "a: 1\nk: true"},
		{"a key in the place of the last one of a mapping", "m:\n  a: 1\n  b: 2\nz: 1\n", all(drop("m", "b"), after("a", "k", true, "m")), "m:\n  a: 1\n  k: true\nz: 1\n"},
		{"a key in the place of the last one of a flow mapping", "m: {a: 1, b: 2}\n", all(drop("m", "b"), after("a", "k", true, "m")), "m: {a: 1, k: true}\n"},
		{"a key in the place of the last one of a JSON object", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", all(drop("b"), after("a", "k", true)), "{\n  \"a\": 1,\n  \"k\": true\n}\n"},
		{"a key in the place of the last one of a flow mapping with a trailing comma", "m: {\n  a: 1, # one\n  b: 2, # two\n}\n", all(drop("m", "b"), after("a", "k", true, "m")), "m: {\n  a: 1, # one\n  k: true,\n  # two\n}\n"},
		{"a value, a key after it and its list", "a: aws # c\nl: [x]\n", all(set("external", "a"), after("a", "k", true), func(e *Edit, n Node) { e.Set(n.Get("l").Items()[0], "w") }), "a: external # c\nk: true\nl: [w]\n"},
		{"an item at the end of a list, and one at the end of the list around it", "- a:\n    - x\n- b: 1\n", func(e *Edit, n Node) { e.InsertItem(n, 1, Map{{"c", true}}); e.Append(n.Items()[0].Get("a"), "w") }, "- a:\n    - x\n    - w\n- c: true\n- b: 1\n"},
		{"two members of tall JSON", "{\n  \"a\": 1\n}\n", all(after("a", "b", 2), after("a", "c", 3)), "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"},
		{"two members of tall JSON whose last one goes", "{\n  \"a\": 1,\n  \"z\": {\n    \"y\": 1\n  }\n}\n", all(after("a", "b", 2), after("a", "c", 3), drop("z")), "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"},
	})
}

func TestRenameAndAdopt(t *testing.T) {
	runEdits(t, []editCase{
		{"a key is renamed and keeps its quotes", "m:\n  \"kubeapi-server-arg\": # c\n    - x\n", func(e *Edit, n Node) { e.Rename(n.Get("m", "kubeapi-server-arg"), "kube-apiserver-arg") }, "m:\n  \"kube-apiserver-arg\": # c\n    - x\n"},
		{"keys next to their parent move below it", "l:\n  - config:\n    # args\n    a:\n      - x\n    b: 1\n    sel: {}\n", func(e *Edit, n Node) {
			i := n.Get("l").Items()[0]
			e.Adopt(i.Get("config"), []Node{i.Get("a"), i.Get("b")})
		}, "l:\n  - config:\n      # args\n      a:\n        - x\n      b: 1\n    sel: {}\n"},
		{"a null that is written out goes", "config: null\na: 1\n", func(e *Edit, n Node) { e.Adopt(n.Get("config"), []Node{n.Get("a")}) }, "config:\n  a: 1\n"},
	})
}

func TestEmbeddedYAMLIsEditedToAnyDepth(t *testing.T) {
	runEdits(t, []editCase{
		{"a document joins a stripped literal", "m: |-\n  a: 1\nz: 1\n", join("m", "b: 2\nc: 3\n"), "m: |-\n  a: 1\n  ---\n  b: 2\n  c: 3\nz: 1\n"},
		{"a document joins a clipped literal", "m: |\n  a: 1\n# tail\nz: 1\n", join("m", "b: 2"), "m: |\n  a: 1\n  ---\n  b: 2\n# tail\nz: 1\n"},
		{"a document joins a clipped literal at the end of a file without a break", "m: |\n  a: 1", join("m", "b: 2"), "m: |\n  a: 1\n  ---\n  b: 2"},
		{"a document joins a literal that keeps blank lines", "m: |+\n  a: 1\n\nz: 1\n", join("m", "b: 2"), "m: |+\n  a: 1\n\n  ---\n  b: 2\nz: 1\n"},
		{"a document fills the place after a waiting marker", "m: |\n  a: 1\n  ---\nz: 1\n", join("m", "b: 2"), "m: |\n  a: 1\n  ---\n  b: 2\nz: 1\n"},
		{"a document becomes the text of an empty string", "o:\n  m: \"\"\nz: 1\n", func(e *Edit, n Node) { in, _ := e.Embedded(n.Get("o", "m")); in.Append("b: 2\nc: 3") }, "o:\n  m: |-\n    b: 2\n    c: 3\nz: 1\n"},
		{"a document joins a double-quoted line", `m: "a: 1\nb: \"x\"\n"` + "\n", join("m", "c: \"3\""), `m: "a: 1\nb: \"x\"\n---\nc: \"3\"\n"` + "\n"},
		{"a document joins a JSON string", `{"m": "a: 1\u000ab: 2"}`, join("m", "c: 3"), `{"m": "a: 1\u000ab: 2\n---\nc: 3"}`},
		{"CRLF files get CRLF", "m: |-\r\n  a: 1\r\nz: 1\r\n", join("m", "b: 2"), "m: |-\r\n  a: 1\r\n  ---\r\n  b: 2\r\nz: 1\r\n"},
		{"a value inside", "m: |\n    a:\n      b: aws # c\n\n    c: 1\nz: 1\n", inText("m", set("external", "a", "b")), "m: |\n    a:\n      b: external # c\n\n    c: 1\nz: 1\n"},
		{"an item inside", "m: |\n  a:\n    - x\n  b: 1\nz: 1\n", inText("m", appendTo("v", "a")), "m: |\n  a:\n    - x\n    - v\n  b: 1\nz: 1\n"},
		{"an item inside, before a blank line", "m: |\n  a:\n    - x\n\n  b: 1\nz: 1\n", inText("m", appendTo("v", "a")), "m: |\n  a:\n    - x\n    - v\n\n  b: 1\nz: 1\n"},
		{"an item at the end of a stripped literal", "m: |-\n  a:\n    - x\nz: 1\n", inText("m", appendTo("v", "a")), "m: |-\n  a:\n    - x\n    - v\nz: 1\n"},
		{"an item is removed inside", "m: |-\n  a:\n    - x\n    - y\nz: 1\n", inText("m", dropItem(1, "a")), "m: |-\n  a:\n    - x\nz: 1\n"},
		{"a first key moves up inside", "m: |\n  - a: 1\n    b: 2\nz: 1\n", inText("m", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }), "m: |\n  - b: 2\nz: 1\n"},
		{"an indentation indicator", "m: |2-\n   # one\n  a:\n  - x\nz: 1\n", inText("m", appendTo("v", "a")), "m: |2-\n   # one\n  a:\n  - x\n  - v\nz: 1\n"},
		{"a value inside of a double-quoted line", `m: "a: aws\nb: \u00fc\n" # c` + "\n", inText("m", set("external", "a")), `m: "a: external\nb: \u00fc\n" # c` + "\n"},
		{"values of a chart in a manifest in a cluster", "m: |\n  spec:\n    valuesContent: |-\n      args:\n        - x\nz: 1\n", inText("m", func(e *Edit, n Node) { inText("valuesContent", appendTo("v", "args"))(e, n.Get("spec")) }), "m: |\n  spec:\n    valuesContent: |-\n      args:\n        - x\n        - v\nz: 1\n"},
	})
}

func TestEditsThatAreNotSafeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, in string
		change   func(*Edit, Node)
		want     string
	}{
		{"a folded manifest", "x: 1\nm: >\n  a: 1\n", join("m", "b: 2"), "in.yaml:2: m: a folded scalar (>) contains YAML"},
		{"a manifest in single quotes", "m: 'a: 1'\n", join("m", "b: 2"), "in.yaml:1: m: a string of one line contains YAML"},
		{"a manifest in double quotes over several lines", "m: \"a: 1\\n\\\n  b: 2\"\n", join("m", "b: 2"), "in.yaml:1: m: a quoted string of several lines"},
		{"a key that already exists", "a: 1\n", add("a", "x"), "in.yaml:1: the key a already exists"},
		{"a complex key", "? a\n: aws\n", set([]string{"x"}, "a"), "written in an unusual way"},
		{"a comment between a key and a value that becomes a list", "a:\n  # why\n  x\n", set([]string{"x", "y"}, "a"), "a comment is between the key and its value"},
		{"a value of a type that YAML has not", "a: 1\n", set(struct{}{}, "a"), "cannot be written as YAML"},
	} {
		got, err := edited(t, c.in, c.change)
		assert.ErrorContains(t, err, c.want, c.name, got)
	}
}

func TestDocumentsThatCannotBeReadAreRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a syntax error, with its line", "a: 1\nb: [\n", "in.yaml:3: not YAML"},
		{"a duplicate key, with the line of the second", "a:\n  b: 1\n  c: 2\n  b: 3\n", "in.yaml:4: the key \"b\" is duplicated"},
		{"a duplicate key in a large mapping", "a: 1\n" + manyKeys(30) + "a: 2\n", "in.yaml:32: the key \"a\" is duplicated"},
		{"UTF-16", "\xff\xfea\x00", "in.yaml:1: the text is UTF-16"},
		{"binary", "a: 1\n\x00", "in.yaml:2: the file is binary"},
		{"invalid UTF-8", "a: 1\nb: \xff\n", "in.yaml:2: the text is not valid UTF-8"},
	} {
		assert.Error(ParseString("in.yaml", c.in))(t, c.want, c.name)
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("x", i) + ": 1\n")
	}
	return b.String()
}

func TestAliasesThatMultiplyAreRefused(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+", ", 10), ", ") + "]\n"
	}
	assert.Error(ParseString("in.yaml", bomb))(t, "multiply")
	_, err := ParseString("in.yaml", "a: &a {b: *a}\n")
	assert.True(t, err != nil, "an anchor that holds itself was accepted")
	d := assert.Value(ParseString("in.yaml", "a: &a {b: [1]}\nc: *a\n"))(t)
	assert.Equal(t, asJSON(d.Root().Value()), `{"a":{"b":[1]},"c":{"b":[1]}}`)
}
