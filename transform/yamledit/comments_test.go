// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestCommentsOfWhatGoesStayOnLinesOfTheirOwn(t *testing.T) {
	runEdits(t, []editCase{
		{"of an entry with all that is below it", "m:\n  a: 1\n  b: # b\n    # x\n    - x # of x\n  c: 1\n", drop("m", "b"), "m:\n  a: 1\n  # b\n  # x\n  # of x\n  c: 1\n"},
		{"of a first entry after a dash", "- a: 1 # one\n  b: 2\n", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }, "- # one\n  b: 2\n"},
		{"of the only entry after a dash", "- a: # one\n    x: 1 # two\n- c\n", func(e *Edit, n Node) { e.Remove(n.Items()[0].Get("a")) }, "- {}\n  # one\n  # two\n- c\n"},
		{"of the only entry", "m: # m\n  a: 1 # one\nz: 1\n", drop("m", "a"), "m: {} # m\n  # one\nz: 1\n"},
		{"of the last line without a break", "a: 1\nb: 2 # two", drop("b"), "a: 1\n# two"},
		{"after a literal block", "a: |\n  x\nb: 2 # two\n", drop("b"), "a: |\n  x\n# two\n"},
		{"of an item in the middle of a flow list", "a: [\n  x,\n  y, # why\n  z\n]\n", dropItem(1, "a"), "a: [\n  x,\n  # why\n  z\n]\n"},
		{"of the last item of a flow list", "a: [\n  x, # x\n  # of y\n  y # why\n]\n", dropItem(1, "a"), "a: [\n  x # x\n  # of y\n  # why\n]\n"},
		{"of the last item of a flow list, in front of the bracket", "a: [\n  x,\n  # of y\n  y ]\n", dropItem(1, "a"), "a: [\n  x\n  # of y\n  ]\n"},
		{"of the last items of one line", "a: [x, y, # why\n  z]\n", all(dropItem(1, "a"), dropItem(2, "a")), "a: [x\n    # why\n    ]\n"},
		{"of all items of a flow list", "a: [ # which\n  x, # x\n]\n", dropItem(0, "a"), "a: [\n  # which\n  # x\n  ]\n"},
		{"of Windows", "a: 1\r\nb: 2 # two\r\nc: 3\r\n", drop("b"), "a: 1\r\n# two\r\nc: 3\r\n"},
		{"of YAML in a string that goes", "m: |\n  # of a\n  a: 1 # one\nz: 1\n", drop("m"), "# of a\n# one\nz: 1\n"},
		{"and what is none is not kept", "a: \"x # y\"\nb: |\n  # no YAML\n  text\nc: a#b\nd: 1\n", all(drop("a"), drop("b"), drop("c")), "d: 1\n"},
	})
}

func TestANodeCarriesTheCommentsInItAfterItAndAboveIt(t *testing.T) {
	const text = `# head

# of a
a: 1 # one
# of l
l: # list

  # of x
  - x # why
  - y
f: [p, q] # of f
m: |
  # in m
  k: v
j: [
  r, # of r
  s
]
`
	d := assert.Value(ParseString("in.yaml", text))(t)
	root := d.Root()
	for name, c := range map[string]struct {
		node Node
		want []int
	}{
		"an entry":                      {root.Get("a"), []int{3, 4}},
		"a list":                        {root.Get("l"), []int{5, 6, 8, 9}},
		"an item":                       {root.Get("l").Items()[0], []int{8, 9}},
		"an item without":               {root.Get("l").Items()[1], nil},
		"a flow list":                   {root.Get("f"), []int{11}},
		"an item of it":                 {root.Get("f").Items()[1], nil},
		"a string with YAML":            {root.Get("m"), []int{13}},
		"an item on a line of its own":  {root.Get("j").Items()[0], []int{16}},
		"an item below that":            {root.Get("j").Items()[1], nil},
		"a node that is not there":      {root.Get("none"), nil},
		"a node of a document in there": {inner(t, root.Get("m")).Get("k"), []int{13}},
	} {
		assert.EqualSlices(t, c.node.Comments(), c.want, name)
	}
}

func inner(t *testing.T, n Node) Node {
	t.Helper()
	in := assert.Value(n.Embedded())(t)
	return in.Documents()[0].Root()
}

// TestNoRemovalLosesAComment puts a comment on every line of the seeds that can
// have one, and takes out every node.
func TestNoRemovalLosesAComment(t *testing.T) {
	files, err := filepath.Glob("testdata/seeds/*.yaml")
	assert.Must(t, err == nil && len(files) != 0, "no seeds", err)
	removed := 0
	for _, file := range files {
		text := assert.Value(os.ReadFile(file))(t)
		for _, c := range Split(file, text) {
			d, err := Parse(c)
			if err != nil || d.IsJSON() {
				continue
			}
			d = commented(t, d)
			for _, n := range newRandom(1, d).nodes {
				if n.parent == nil {
					continue
				}
				e := d.Edit()
				e.Remove(n)
				after, _, err := e.Apply()
				switch {
				case err == nil:
				default:
					shared := strings.Contains(err.Error(), "the change would affect every use of this value:") || strings.Contains(err.Error(), "merge key")
					assert.Truef(t, shared, "%s: %v", file, err)
					continue
				}
				removed++
				for i := range strings.Count(string(d.Bytes()), "# comment ") {
					text := fmt.Sprintf("# comment %d;", i)
					assert.Truef(t, strings.Count(string(d.Bytes()), text) == strings.Count(string(after.Bytes()), text), "%s: %s is lost with %s", file, text, n.Path())
				}
			}
		}
	}
	assert.Truef(t, removed >= 100, "only %d nodes were removed", removed)
}

// commented writes a comment at the end of every line, where the tree stays.
func commented(t *testing.T, d *Document) *Document {
	t.Helper()
	text, n := d.Bytes(), 0
	for l := d.lines().count() - 1; l >= 0; l-- {
		at := d.lines().end(l)
		with := slices.Concat(text[:at], fmt.Appendf(nil, " # comment %d;", n), text[at:])
		doc, err := Parse(Chunk{File: d.File(), Bytes: with})
		if err != nil || (&Edit{doc: d}).prove(doc) != nil {
			continue
		}
		text, n = with, n+1
	}
	return assert.Value(Parse(Chunk{File: d.File(), Bytes: text}))(t)
}
