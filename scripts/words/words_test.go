// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const aList = `# Contributing

| Do not write | Write | Where | Allowed |
|---|---|---|---|
| ` + "`behind`" + ` | after, below | everywhere | ` + "`behind a proxy`" + `: a network term |
| ` + "`go by`, `goes by`" + ` | matches | everywhere | |
| ` + "`tell`, `tells`" + ` | shows | texts | |

| Other | Table |
|---|---|
`

func TestEveryListedWordIsFoundInEveryKindOfTextOfItsRow(t *testing.T) {
	text := assert.Value(os.ReadFile(filepath.Join("..", "..", listFile)))(t)
	rows := rowsOfList.FindStringSubmatch(string(text))
	assert.Must(t, rows != nil, "CONTRIBUTING.md has no word list")
	list := mustList(t, string(text))
	for row := range strings.Lines(rows[1]) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for _, word := range spans(cells[0]) {
			for k, file := range textsWith(word) {
				found := checkFiles(t, list, file)
				everywhere := strings.Contains(cells[2], "everywhere")
				want := everywhere || k == document || k == message
				hit := slices.ContainsFunc(found, func(f finding) bool { return f.kind == k && strings.EqualFold(f.word, word) })
				assert.Truef(t, hit == want, "%q in a %s: found %t, not %t: %v", word, k, hit, want, found)
			}
		}
	}
}

// textsWith are files with a word in a text of each kind.
func textsWith(word string) map[kind][2]string {
	var name strings.Builder
	for _, w := range strings.Fields(word) {
		name.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return map[kind][2]string{
		document:   {"a.md", "Now\n" + word + " the\nother.\n"},
		message:    {"a.go", fmt.Sprintf("package a\n\nvar b = \"now %s the other\"\n", word)},
		testText:   {"a_test.go", fmt.Sprintf("package a\n\nvar b = \"now %s the other\"\n", word)},
		comment:    {"a_test.go", "package a\n\n// Now " + strings.ReplaceAll(word, " ", "\n// ") + " the other.\nvar b int\n"},
		identifier: {"a.go", "package a\n\nfunc it" + name.String() + "Other() {}\n"},
	}
}

func TestAFindingHasPlaceKindWordAndWhatToWrite(t *testing.T) {
	list := mustList(t, aList)
	for name, c := range map[string]struct {
		file [2]string
		want string
	}{
		"document":                  {[2]string{"docs/a.md", "# A\n\nIt goes\nby name.\n"}, `docs/a.md:3: document: do not write "goes by"; write: matches`},
		"joined strings":            {[2]string{"a.go", "package a\n\nvar b = \"x\" +\n\t\"it goes \" +\n\t\"by name\"\n"}, `a.go:4: message: do not write "goes by"; write: matches`},
		"string of several lines":   {[2]string{"a.go", "package a\n\nvar b = `x y\n\nit tells`\n"}, `a.go:5: message: do not write "tells"; write: shows`},
		"argument in joined ones":   {[2]string{"a.go", "package a\n\nvar b = \"x y\" + c(\"it tells\")\n"}, `a.go:3: message: do not write "tells"; write: shows`},
		"comment over lines":        {[2]string{"a.go", "package a\n\n// B goes\n// by name.\nvar b int\n"}, `a.go:3: comment: do not write "goes by"; write: matches`},
		"name":                      {[2]string{"a.go", "package a\n\nfunc b() { isBehind := 1; _ = isBehind }\n"}, `a.go:3: name: do not write "Behind"; write: after, below`},
		"name in capitals":          {[2]string{"a.go", "package a\n\ntype b struct{ CCMBehind int }\n"}, `a.go:3: name: do not write "Behind"; write: after, below`},
		"parameter":                 {[2]string{"a.go", "package a\n\nfunc b(behind int) {}\n"}, `a.go:3: name: do not write "behind"; write: after, below`},
		"string of a test":          {[2]string{"a_test.go", "package a\n\nvar b = \"it is behind\"\n"}, `a_test.go:3: test: do not write "behind"; write: after, below`},
		"capital and apostrophe":    {[2]string{"a.md", "Behind's\n"}, `a.md:1: document: do not write "Behind"; write: after, below`},
		"twice, one in its context": {[2]string{"a.md", "Behind a proxy,\nor behind.\n"}, `a.md:2: document: do not write "behind"; write: after, below`},
		"unreleased changes":        {[2]string{"CHANGELOG.md", "## [Unreleased]\n\nbehind\n\n## [1.0.0]\n\nbehind\n"}, `CHANGELOG.md:3: document: do not write "behind"; write: after, below`},
	} {
		t.Run(name, func(t *testing.T) {
			found := checkFiles(t, list, c.file)
			assert.Truef(t, len(found) == 1 && found[0].String() == c.want, "%v, not %s", found, c.want)
		})
	}
}

func TestWhatIsNotATextIsNotChecked(t *testing.T) {
	list := mustList(t, aList)
	for name, file := range map[string][2]string{
		"context that allows it":   {"a.md", "The server is behind a\nproxy.\n"},
		"part of a word":           {"a.md", "behindhand, behind-the-scenes, x_behind\n"},
		"code in a document":       {"a.md", "`behind` and `a\nbehind`\n"},
		"block in a document":      {"a.md", "```sh\nbehind\n```\n\n  ```\n  behind\n  ```\n"},
		"string without a space":   {"a.go", "package a\n\nvar b = \"behind\"\n"},
		"example of this command":  {"scripts/words/a_test.go", "package a\n\nvar b = \"it is behind\"\n"},
		"word for texts in a test": {"a_test.go", "package a\n\nvar b = \"it tells all\"\n"},
		"word for texts in code":   {"a.go", "package a\n\n// B tells.\nfunc tells() {}\n"},
		"tag of a field":           {"a.go", "package a\n\ntype b struct {\n\tC int `json:\"a\" doc:\"behind it\"`\n}\n"},
		"name of another package":  {"a.go", "package a\n\nimport \"strings\"\n\nvar b = strings.Behind\n"},
		"texts apart from another": {"a.go", "package a\n\nvar b, c = \"it goes\", \"by name it is\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			found := checkFiles(t, list, file)
			assert.True(t, len(found) == 0, found)
		})
	}
}

func TestATreeIsCheckedByItsOwnList(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"CONTRIBUTING.md":     aList,
		"b.md":                "behind\n",
		"a/a.go":              "package a\n\n// Behind it.\n\n// It goes by it.\n",
		"a/testdata/a.md":     "behind\n",
		".git/a.md":           "behind\n",
		"a/not-checked.woff2": "behind\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(file))
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	found := assert.Value(checkTree(root))(t)
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s:%d", f.file, f.line))
	}
	assert.EqualSlices(t, got, []string{"a/a.go:3", "a/a.go:5", "b.md:1"})
}

func TestABrokenListIsAnError(t *testing.T) {
	for name, list := range map[string]string{
		"no table":          "# Contributing\n",
		"too few cells":     strings.Replace(aList, " | everywhere |", " |", 1),
		"no words":          strings.Replace(aList, "`behind` |", "behind |", 1),
		"nothing to write":  strings.Replace(aList, "| after, below |", "| |", 1),
		"an unknown extent": strings.Replace(aList, "everywhere", "somewhere", 1),
	} {
		got, err := readList(list)
		assert.Truef(t, err != nil, "%s: %v", name, got)
	}
}

func mustList(t *testing.T, text string) wordList {
	t.Helper()
	list := assert.Value(readList(text))(t)
	return list
}

func checkFiles(t *testing.T, list wordList, file [2]string) []finding {
	t.Helper()
	passages := assert.Value(passagesOf(file[0], []byte(file[1])))(t)
	var found []finding
	for _, p := range passages {
		found = append(found, list.check(file[0], p)...)
	}
	return found
}
