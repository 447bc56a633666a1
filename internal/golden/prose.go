// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"regexp"
	"strings"
)

// A paragraph of what a verb prints for people: what a stage or a rule says, broken into lines.
type paragraph struct {
	lines                []string // as they are printed, with newlines
	indent, before, text string   // the lines are indent, before, text and after, broken
	after                string
	group                group // none for other lines, which have no text
}

// group is who says a text, and as what.
type group struct{ of, kind string }

func (g group) String() string { return g.of + "/" + g.kind }

var (
	stageLine   = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)+)  \S`)
	findingLine = regexp.MustCompile(`^( *)(?:error|warning|note) ([a-z0-9-]+)(?:, accepted)?(?:  .*)?\n$`)
	notChecked  = regexp.MustCompile(`^(not checked, because )(?:(.*)(: ([a-z-]+).*))?`)
	// An error says where, what, and what to do.
	errorText = regexp.MustCompile(`^((?:error: )?(?:\S+:(?:\d+:)? )?(?:[a-z][A-Za-z0-9_.\[\]]*: )?)(.*?)(?:(; )(.*))?$`)
)

// How paragraphs begin that are recognized by it.
const (
	arrow    = "→ "
	beforeIt = "before it, "
)

// As what a text is said.
const (
	kindWhy     = "why"
	kindPrepare = "prepare"
	kindAction  = "action"
	kindCommand = "command"
	kindMessage = "message"
	kindFix     = "fix"
)

// What rke-lm says when it refuses: what is wrong, and what to do.
var (
	groupWrong  = group{"rke-lm", "error"}
	groupRemedy = group{"rke-lm", "remedy"}
)

// paragraphs cuts a text; joined, the lines of all paragraphs are the text. Lines may be a paragraph or
// two by their lengths alone; then those that are known are one.
func paragraphs(text string, known func(string) bool) []paragraph {
	lines := strings.SplitAfter(text, "\n")
	var out []paragraph
	var stage, rule, ruleIndent string
	said := false // why a stage is
	for i := 0; i < len(lines); {
		if n := diffLength(lines[i:]); n > 0 {
			out, i = append(out, paragraph{lines: lines[i : i+n]}), i+n
			continue
		}
		line := lines[i]
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		if rule != "" && len(indent) <= len(ruleIndent) {
			rule = ""
		}
		p := paragraph{lines: lines[i : i+1], indent: indent}
		switch {
		case body == "\n" || body == "":
		case findingLine.MatchString(line):
			m := findingLine.FindStringSubmatch(line)
			ruleIndent, rule = m[1], m[2]
		case rule != "":
			p = joined(lines[i:], indent, known)
			if p.before, p.group = "", (group{rule, kindMessage}); strings.HasPrefix(p.text, arrow) {
				p.before, p.text, p.group = arrow, p.text[len(arrow):], group{rule, kindFix}
			}
		case notChecked.MatchString(line):
			p = joined(lines[i:], indent, known)
			if m := notChecked.FindStringSubmatch(p.text); m != nil && m[4] != "" {
				p.before, p.text, p.after, p.group = m[1], m[2], m[3], group{m[4], kindWhy}
			}
		case indent == "":
			stage, said = "", false
			if strings.HasPrefix(line, "error: ") {
				p.text, p.group = strings.TrimSuffix(line, "\n"), groupWrong
			}
			if m := stageLine.FindStringSubmatch(line); m != nil && !strings.Contains(line, "  blocked: ") { // what blocks one is said of its rule
				stage = m[1]
			}
		case stage == "":
		case indent == "  ":
			p = joined(lines[i:], indent, known)
			switch rest, is := strings.CutSuffix(p.text, ":"); {
			case is:
				p.text, p.after, p.group = rest, ":", group{stage, kindAction}
			case !said:
				p.group = group{stage, kindWhy}
			case strings.HasPrefix(p.text, beforeIt):
				p.before, p.text, p.group = beforeIt, rest[len(beforeIt):], group{stage, kindPrepare}
			}
			said = true
		case indent == "    ":
			p.text, p.group = strings.TrimSuffix(body, "\n"), group{stage, kindCommand}
		}
		out, i = append(out, p), i+len(p.lines)
	}
	return out
}

// joined is the paragraph that lines begin with: the longest that is known, or the longest.
func joined(lines []string, indent string, known func(string) bool) paragraph {
	p := paragraph{indent: indent}
	var words []string
	for i, line := range lines {
		body, is := strings.CutPrefix(line, indent)
		if !is || body == "" || strings.ContainsAny(body[:1], " \n") {
			break
		}
		next := strings.Fields(body)
		if i > 0 && (len(lines[i-1])+len(next[0]) < columns || begins(line, body) || strings.HasSuffix(lines[i-1], ":\n")) {
			break
		}
		words = append(words, next...)
		text := strings.Join(words, " ")
		if i == 0 || !known(bare(p.text)) || known(bare(text)) {
			p.text, p.lines = text, lines[:i+1]
		}
	}
	return p
}

// bare is what a paragraph says.
func bare(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, arrow), ":") }

// begins reports whether a line begins a paragraph, however long the line before it is.
func begins(line, body string) bool {
	return strings.HasPrefix(body, arrow) || strings.HasPrefix(body, beforeIt) || findingLine.MatchString(line)
}

const columns = 100

// broken is a text in lines of at most so many columns, as the report breaks it.
func broken(text, indent string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) >= columns && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}
