// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// entry is a row of the list.
type entry struct {
	words   *regexp.Regexp
	write   string
	texts   bool           // only for documents and messages: in code the word has a plain use as well
	allowed *regexp.Regexp // nil when no context allows the words
}

type wordList []entry

// finding is one use of a listed word.
type finding struct {
	file  string
	line  int
	kind  kind
	word  string
	write string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: do not write %q; write: %s", f.file, f.line, f.kind, f.word, f.write)
}

var (
	rowsOfList = regexp.MustCompile(`(?m)^\| Do not write \| Write \| Where \| Allowed \|\n\|[-|]+\|\n((?:\|.*\n)+)`)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
)

// readList reads the table of the words: the words as code spans, what to write, where the row applies ("everywhere",
// or "texts" for documents and messages), and contexts that allow the words, as code spans with their reasons.
func readList(document string) (wordList, error) {
	table := rowsOfList.FindStringSubmatch(document)
	if table == nil {
		return nil, errors.New("the table | Do not write | Write | Where | Allowed | is missing")
	}
	var list wordList
	for row := range strings.Lines(table[1]) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		e, ok := readEntry(cells)
		if !ok {
			return nil, fmt.Errorf("the row %q of the word list needs four cells: words as code spans, what to write, \"everywhere\" or \"texts\", and allowed contexts", strings.TrimSpace(row))
		}
		list = append(list, e)
	}
	return list, nil
}

func readEntry(cells []string) (entry, bool) {
	if len(cells) != 4 {
		return entry{}, false
	}
	words, where := spans(cells[0]), strings.TrimSpace(cells[2])
	if len(words) == 0 || strings.TrimSpace(cells[1]) == "" || where != "everywhere" && where != "texts" {
		return entry{}, false
	}
	e := entry{words: phrases(words), write: strings.TrimSpace(cells[1]), texts: where == "texts"}
	if allowed := spans(cells[3]); len(allowed) > 0 {
		e.allowed = phrases(allowed)
	}
	return e, true
}

func spans(cell string) []string {
	var texts []string
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// phrases matches any of some phrases as whole words, in either case and across line breaks. A hyphen joins words, so
// a name such as read-ahead is one word.
func phrases(texts []string) *regexp.Regexp {
	texts = slices.Clone(texts)
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest first
	for i, text := range texts {
		words := strings.Fields(text)
		for j, word := range words {
			words[j] = regexp.QuoteMeta(word)
		}
		texts[i] = strings.Join(words, `\s+`)
	}
	return regexp.MustCompile(`(?i)(?:^|[^\w-])(` + strings.Join(texts, "|") + `)(?:$|[^\w-])`)
}

// check returns the uses of listed words in a passage, but those in a context that allows them.
func (l wordList) check(file string, p passage) []finding {
	var found []finding
	for _, e := range l {
		if e.texts && p.kind != document && p.kind != message {
			continue
		}
		for _, at := range matches(e.words, p.text) {
			if e.allowed != nil && slices.ContainsFunc(matches(e.allowed, p.text), func(context [2]int) bool {
				return context[0] <= at[0] && at[1] <= context[1]
			}) {
				continue
			}
			word := strings.Join(strings.Fields(p.text[at[0]:at[1]]), " ")
			found = append(found, finding{file: file, line: p.line(at[0]), kind: p.kind, word: word, write: e.write})
		}
	}
	return found
}

// matches returns where the phrases are.
func matches(phrases *regexp.Regexp, text string) [][2]int {
	var all [][2]int
	for from := 0; ; {
		m := phrases.FindStringSubmatchIndex(text[from:])
		if m == nil {
			return all
		}
		all = append(all, [2]int{from + m[2], from + m[3]})
		from += m[3] // neighbours share the character between them
	}
}
