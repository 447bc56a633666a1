// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kind is where a text is in the project.
type kind string

const (
	document   kind = "document"
	message    kind = "message"
	testText   kind = "test"
	comment    kind = "comment"
	identifier kind = "name"
)

var kinds = []kind{document, message, testText, comment, identifier}

// passage is a text that is checked as one, and the lines that it came from.
type passage struct {
	kind kind
	text string
	at   []mark // in the order of the text
}

// mark says that the text is on a line from an offset on; the line breaks that follow in the text count.
type mark struct {
	offset, line int
}

func (p passage) line(offset int) int {
	i, _ := slices.BinarySearchFunc(p.at, offset+1, func(m mark, offset int) int { return m.offset - offset })
	m := p.at[i-1]
	return m.line + strings.Count(p.text[m.offset:offset], "\n")
}

// textFiles returns the files with texts of the project, below a root: documents and Go.
func textFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() != "." && path != root && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.IsDir() && (strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".go")):
			name, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	return files, err
}

// passagesOf returns the texts of a file.
func passagesOf(file string, source []byte) ([]passage, error) {
	if strings.HasSuffix(file, ".md") {
		return []passage{prose(file, string(source))}, nil
	}
	texts, err := goTexts(file, source)
	if strings.HasPrefix(file, "scripts/words/") { // its tests have the words as examples
		texts = slices.DeleteFunc(texts, func(p passage) bool { return p.kind == testText })
	}
	return texts, err
}

var (
	fenced      = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	inlineCode  = regexp.MustCompile("`[^`\n]*(?:\n[^`\n]+)?`")
	oldReleases = regexp.MustCompile(`(?s)\n## \[?v?\d.*`)
)

// prose is a document without its code: sessions print messages, which are checked where they are written. What a
// released version said in the changelog stays.
func prose(file, text string) passage {
	if filepath.Base(file) == "CHANGELOG.md" {
		text = oldReleases.ReplaceAllStringFunc(text, blank)
	}
	text = fenced.ReplaceAllStringFunc(text, blank)
	return passage{kind: document, text: inlineCode.ReplaceAllStringFunc(text, blank), at: []mark{{0, 1}}}
}

// blank keeps the lines of a text and none of its words.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return '~'
	}, text)
}
