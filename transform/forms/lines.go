// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"regexp"
	"slices"
	"strings"
)

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
