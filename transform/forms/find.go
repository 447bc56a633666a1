// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Found is what a file has in a form that is not read.
type Found struct {
	Form  Form
	File  string
	Line  int    // the first one with a key; 0 if the file is of no form
	text  string // the lines that count, each after "!" if it is about a key, or else a space
	lines []int  // their numbers
}

const assigned = `["'\]]*\s*\+?[:={]`

var (
	// A key is at the start of a line, or assigned. In a block a mention is enough.
	outside = regexp.MustCompile(`^[\s?"']*(?:` + own + `)s?\b|(?:` + own + `)s?` + assigned)
	holding = regexp.MustCompile(`(?:` + holders + `)s?` + assigned)
	inside  = regexp.MustCompile(own + `|/(?:` + holders + `)|\b(?:` + shared + `)s?` + assigned)
	release = regexp.MustCompile(`(?:=|[:=]\s+)["']?v?\d+\.\d+\.\d+(?:\+rke2r|-rancher\d+-)\d`)
	// What another program reads may be any key.
	control = regexp.MustCompile(`\{\{[-~]?\s*(?:/\*|#|if|else|end|range|with|for|define|block)|\{%|(?:^|[^$])\{#|%\{|(?:^|\s)/\*|\*/(?:\s|$)|\$patch["']?\s*:`)
	opaque  = regexp.MustCompile(`\\(?:[xuU]|$)|!!|<<\s*:|:\s*[*&]\w|^(?:---|\.\.\.)|[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{16,}={1,2}["']?\s*$|:\s*["']?(?:aws|external)["']?\s*(?:[,}]|$)`)
)

// Find returns what a text has in a form that is not read; first is the number of its first line.
func Find(file string, text []byte, first int) (found Found) {
	if IsDump(text) {
		found = Found{Form: Dump, File: file, Line: first}
	}
	plainly := decoded(string(text))
	if !hinted(plain(plainly)) {
		return found
	}
	form, all := read(file, plainly)
	if found.Line == 0 {
		found.Form, found.File = form, file
	}
	about, end := make([]bool, len(all)), -1 // of what belongs to a key
	for i, l := range all {
		plain := plain(l.text)
		likely := hinted(plain)
		about[i] = about[i] || likely && holding.MatchString(plain)
		key := likely && (outside.MatchString(plain) || release.MatchString(l.text)) || l.inside && inside.MatchString(plain)
		if found.Line == 0 && (key || about[i]) {
			found.Line = first + i
		}
		if key && i > end {
			operation := all.operation(i)
			end = max(i, all.region(operation))
			for j := operation; j <= end; j++ {
				about[j] = true
			}
		}
	}
	for i, l := range all {
		mark := " "
		if about[i] || control.MatchString(l.text) || l.inside && opaque.MatchString(l.text) {
			mark = "!"
		}
		if l.text != "" && (mark == "!" || l.inside) {
			found.text, found.lines = found.text+mark+l.text+"\n", append(found.lines, first+i)
		}
	}
	return found
}

// ByFile joins what the documents of a file have.
func ByFile(list []Found) map[string]Found {
	files := map[string]Found{}
	for _, f := range list {
		if of, had := files[f.File]; had {
			f.Line, f.text, f.lines = cmp.Or(of.Line, f.Line), of.text+f.text, append(of.lines, f.lines...)
		}
		files[f.File] = f
	}
	return files
}

// Compare reports whether two versions differ in lines that count, and in one about the provider,
// the arguments of a manager or the version. line is such a line, after the change where there is one.
func Compare(before, after Found) (line int, differ, about bool) {
	numbers := after.lines
	if len(numbers) == 0 {
		numbers = before.lines
	}
	for _, e := range udiff.Lines(before.text, after.text) {
		touched := strings.Contains("\n"+before.text[e.Start:e.End]+e.New, "\n!")
		if !differ || touched && !about {
			line = numbers[min(strings.Count(before.text[:e.Start], "\n"), len(numbers)-1)]
		}
		differ, about = true, about || touched
	}
	return line, differ, about
}

// line is one of a text, without its comment.
type line struct {
	text   string
	indent int
	opens  int  // brackets and heredocs that it opens, less those that it closes
	inside bool // a block
}

type lines []line

var (
	// A comment does not begin in quotes, so what is in quotes is found as well.
	quoted  = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"|'[^'\n]*'`)
	comment = regexp.MustCompile(`(?m)` + quoted.String() + `|(?:^|[ \t])#.*|^[ \t]*//.*`)
	heredoc = regexp.MustCompile(`<<[-~]?\s*\\?["']?([A-Za-z_]\w*)`)
	pointer = regexp.MustCompile(`^\s*(?:-\s+)?["']?(?:path|from)["']?\s*:\s*["']?/`)
	item    = regexp.MustCompile(`^\s*-(?:\s|$)`)
)

// read cuts a text into lines, and finds the blocks of forms. The first row of the table with one
// names the form, or else the name of the file.
func read(file, text string) (form Form, all lines) {
	text = comment.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' || found[0] == '\'' {
			return found
		}
		return ""
	})
	end := "" // of a heredoc
	for s := range strings.SplitSeq(text, "\n") {
		l := line{text: strings.TrimRight(s, " \t\r"), indent: len(s) - len(strings.TrimLeft(s, " \t"))}
		for _, c := range quoted.ReplaceAllString(s, "") {
			l.opens += strings.Count("{[(", string(c)) - strings.Count("}])", string(c))
		}
		if m := heredoc.FindStringSubmatch(s); m != nil && end == "" {
			end, l.opens = m[1], l.opens+1
		} else if end != "" && strings.TrimSpace(s) == end {
			end, l.opens = "", l.opens-1
		}
		all = append(all, l)
	}
	for _, f := range table { // the last row is for other names as well
		if form = f; slices.ContainsFunc(strings.Fields(f.ends), func(end string) bool { return strings.HasSuffix(file, end) }) {
			break
		}
	}
	document := form.mark == nil // no file of blocks
	for _, f := range slices.Backward(table) {
		whole := f.whole && document && f.mark.MatchString(text)
		for i := 0; f.mark != nil && i < len(all); i++ {
			if whole || !f.whole && f.mark.MatchString(all[i].text) {
				form = f
				first := all.operation(i)
				last := all.region(first)
				for j := first; j <= last; j++ {
					all[j].inside = true
				}
				i = max(i, last)
			}
		}
	}
	return form, all
}

// operation is the first line of the operation of a JSON patch in which a line names a path, or else that line.
func (l lines) operation(i int) int {
	if !pointer.MatchString(l[i].text) || item.MatchString(l[i].text) {
		return i
	}
	for j := i - 1; j >= 0 && l[j].text != ""; j-- {
		if l[j].indent < l[i].indent {
			return j
		}
	}
	return i
}

// region returns the last line of what a line begins: its heredoc, what its brackets enclose, and
// what is indented deeper.
func (l lines) region(i int) int {
	end, depth := i, 0
	for j, next := range l[i:] {
		deeper := next.indent > l[i].indent || next.indent == l[i].indent && item.MatchString(next.text) && !item.MatchString(l[i].text)
		switch {
		case j == 0 || depth > 0 || deeper && next.text != "":
			end = i + j
		case next.text != "":
			return end
		}
		depth = max(depth+next.opens, 0)
	}
	return end
}
