// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// freeText returns the secrets of text that no reader structures: a script, a
// configuration file in any syntax, a message.
func freeText(text []byte) []span {
	return append(shapes(text, span{0, len(text)}), assignments(text, manifest.Match(text))...)
}

// assignments returns the values of secrets that lines of text assign. With data,
// keys named data are those of a Secret.
func assignments(text []byte, data bool) []span {
	if !bytes.ContainsAny(text, "=: \t") {
		return nil
	}
	o := outline{text: text, below: -1, data: data}
	for start := 0; start < len(text); {
		end := start + len(lineAt(text, start))
		o.line(start, end)
		start = end + 1
	}
	count(o.work)
	return o.found
}

// outline reads lines one after the other, and remembers what one says about those
// that follow.
type outline struct {
	text  []byte
	found []span
	below int    // the indentation of a key whose value, a secret, follows; -1 for none
	fence string // the quotes that end a text of several lines; "" outside of one
	named bool   // the name next to a value is that of a secret
	data  bool   // keys named data are those of a Secret
	work  int    // bytes looked at
}

func (o *outline) hide(start, end int) {
	start = skip(o.text[:end], start, " \t")
	if secret := bytes.TrimRight(o.text[start:end], " \t\r"); len(secret) > 0 {
		o.found = append(o.found, span{start, start + len(secret)})
	}
}

func (o *outline) line(start, end int) {
	o.work += end - start
	at := skip(o.text[:end], start, " \t")
	rest := bytes.TrimRight(o.text[at:end], " \t\r")
	if len(rest) == 0 {
		return
	}
	if o.fence != "" {
		o.hide(at, end)
		if bytes.Contains(rest, []byte(o.fence)) {
			o.fence = ""
		}
		return
	}
	if o.below >= 0 {
		if indent := at - start; indent > o.below || indent == o.below && bytes.HasPrefix(rest, []byte("- ")) {
			o.hide(at, end)
			return
		}
		o.below = -1
	}
	if o.pairs(at, at+len(rest)) || o.passwordFile(at, at+len(rest)) {
		return
	}
	o.assigned(start, at, at+len(rest))
}

// assigned hides the values of secrets on a line; where one follows on later lines
// it says so.
func (o *outline) assigned(start, at, end int) {
	named := o.named
	o.named = false
	for i := at; i < end; i++ {
		switch o.text[i] {
		case 'a':
			if bytes.HasPrefix(o.text[i:end], []byte(arn)) {
				i = until(o.text[:end], i, " \t\"'\\,")
			}
			continue
		case '=', ':':
		default:
			continue
		}
		a, ok := o.assignment(at, i, end)
		if !ok {
			continue
		}
		switch {
		case among(headings, a.name):
			named = secretKey(strings.Trim(a.shown, `"'\,`)) || named && i > at+8
			o.named = named
		case !o.isSecret(a.name, named):
			if likelySecret(a.name, a.shown) {
				o.hide(a.start, a.start+len(a.shown))
				i = max(i, a.start+len(a.shown)-1)
			}
		default:
			if i = o.secret(a, start, at, end); i < 0 {
				return
			}
		}
	}
}

// assignment is a name and its value.
type assignment struct {
	name       string
	nameStart  int
	separator  byte
	open       int    // where the value begins, its quotes included
	start, end int    // of the value, without its quotes
	next       int    // after the value and its quotes
	quoted     bool   // else the value goes up to the end of the line
	shown      string // the value, or its first word
	rest       string // the value, as far as it matters for what says nothing
}

// assignment reads the one around a separator.
func (o *outline) assignment(at, i, end int) (a assignment, ok bool) {
	nameStart, nameEnd := o.nameBefore(at, i)
	if nameStart == nameEnd || bytes.HasSuffix(o.text[:nameEnd], []byte(kubeconfigFlag)) {
		return a, false
	}
	value := i + 1
	for value < end && (o.text[value] == '=' || o.text[value] == '>' && o.text[i] == '=') {
		value++
	}
	a = assignment{name: string(o.text[nameStart:nameEnd]), nameStart: nameStart, separator: o.text[i]}
	a.open = skip(o.text[:end], value, " \t")
	a.start, a.end, a.next, a.quoted = o.value(a.open, end)
	a.rest = string(o.text[a.start:min(a.end, a.start+lookahead/2)])
	a.shown = a.rest
	if i := strings.IndexAny(a.rest, " \t,;"); i >= 0 && !a.quoted {
		a.shown = a.rest[:i]
	}
	o.work += len(a.rest)
	return a, true
}

// secret hides a value, and returns where to continue: -1 for the next line.
func (o *outline) secret(a assignment, start, at, end int) int {
	switch {
	case a.separator == ':' && strings.HasPrefix(a.rest, "//"): // the scheme of a URL
		return a.nameStart + len(a.name) + 1
	case !a.quoted && opens(a.rest):
		o.below = a.nameStart - start
		for o.below > 0 && start+o.below > at && strings.IndexByte("\"'", o.text[start+o.below-1]) >= 0 {
			o.below--
		}
		return -1
	case bytes.HasPrefix(o.text[a.open:end], []byte(`"""`)), bytes.HasPrefix(o.text[a.open:end], []byte("'''")):
		o.fenced(a.open, end)
		return -1
	case a.quoted && harmless(a.rest), !a.quoted && a.end-a.start < lookahead/2 && harmless(a.rest):
		return a.next - 1
	case a.quoted:
		o.hide(a.start, a.end)
		return a.next - 1
	}
	// No one knows where it ends before the line does.
	if i := strings.IndexAny(a.rest, ",;)}]"); i > 0 && harmless(a.rest[:i]) {
		return a.start + i - 1
	}
	if c := o.text[a.start]; c == '"' || c == '\'' { // closed on a later line
		o.fence = string(c)
	}
	o.hide(a.start, end)
	return -1
}

// isSecret reports whether a name is that of a secret.
func (o *outline) isSecret(name string, named bool) bool {
	return secretKey(name) || o.data && (name == "data" || name == "stringData") ||
		named && among(values, name)
}

// likelySecret checks the value of a name that is not that of a secret.
func likelySecret(name, value string) bool {
	return len(value) >= 8 && len(value) <= 256 && (passwordLike(value) || hexKey(name, value))
}

// opens reports whether a value follows on the next lines.
func opens(v string) bool {
	switch v {
	case "", "|", "|-", "|+", ">", ">-", ">+", "{", "[", "\\":
		return true
	}
	return len(v) <= 4 && (v[0] == '|' || v[0] == '>')
}

// fenced hides a value between triple quotes, over several lines.
func (o *outline) fenced(at, end int) {
	fence := string(o.text[at : at+3])
	if close := bytes.Index(o.text[at+3:end], []byte(fence)); close >= 0 {
		o.hide(at+3, at+3+close)
		return
	}
	o.fence = fence
	o.hide(at+3, end)
}

// nameBefore returns the name in front of a separator.
func (o *outline) nameBefore(from, i int) (start, end int) {
	const blanks, longest = 64, 256
	end = max(from, i-blanks)
	end += len(bytes.TrimRight(o.text[end:i], " \t\"'\\]:+?"))
	start = end
	letter := false
	for start > from && end-start < longest {
		c := o.text[start-1]
		k := classOf(c)
		if k == other && c < 0x80 && c != '_' && c != '.' && c != '-' {
			break
		}
		letter = letter || k == lower || k == upper || c >= 0x80
		start--
	}
	o.work += i - start
	if !letter {
		return end, end
	}
	return skip(o.text[:end], start, "-"), end
}

// value returns where a value is: between its quotes, or up to the end of its line.
func (o *outline) value(at, end int) (start, stop, next int, quoted bool) {
	start = skip(o.text[:end], at, "\\") + 1
	if start > end || o.text[start-1] != '"' && o.text[start-1] != '\'' {
		return at, end, end, false
	}
	mark := o.text[at:start]
	for i := start; ; i += len(mark) {
		n := bytes.Index(o.text[i:end], mark)
		if n < 0 {
			return at, end, end, false
		}
		i += n
		value := o.text[start:i] // with the escapes in front of the quote
		if (len(value)-len(bytes.TrimRight(value, "\\")))%2 == 0 {
			return start, i, i + len(mark), true
		}
	}
}

// manifest is the heading of a Secret, whatever is around it.
var manifest = regexp.MustCompile(`kind[ \t"'\\]*:[ \t"'\\]*Secret`)

var newline = []byte("\n")

// lineStart returns the offset of the first byte of the line that has an offset.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the offset after the line that has an offset, its line break included.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineAt returns the line that has an offset, without its line break.
func lineAt(text []byte, at int) []byte {
	return bytes.TrimSuffix(text[lineStart(text, at):lineEnd(text, at)], newline)
}

// comments returns the secrets in the comments on lines of a document, and in those that are joined with them. Lines of
// comments one after the other are read as one text: a manifest that was commented out, a key of several lines.
func comments(text []byte, in span) []span {
	if bytes.IndexByte(text[in.start:in.end], '#') < 0 {
		return nil
	}
	for in.start > 0 && wholeComment(lineAt(text, in.start-1)) {
		in.start = lineStart(text, in.start-1)
	}
	for in.end < len(text) && wholeComment(lineAt(text, in.end)) {
		in.end = lineEnd(text, in.end)
	}
	c := commentReader{text: text, data: manifest.Match(text)}
	for start := in.start; start < in.end; {
		end := start + len(lineAt(text, start))
		whole := wholeComment(text[start:end])
		if !whole {
			c.flush()
		}
		if at := commentStart(text[start:end]); at >= 0 {
			c.add(start+at, end)
		}
		if !whole {
			c.flush()
		}
		start = end + 1
	}
	c.flush()
	count(in.end - in.start)
	return c.found
}

// wholeComment reports whether a line is a comment from its start.
func wholeComment(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#"))
}

// commentReader joins lines of comments to one text, without their marks.
type commentReader struct {
	text  []byte
	data  bool
	found []span
	block []byte
	lines []commentLine
}

// commentLine is where a line of the joined text comes from.
type commentLine struct{ at, from int }

func (c *commentReader) add(start, end int) {
	for start < end && c.text[start] == '#' {
		start++
	}
	c.lines = append(c.lines, commentLine{len(c.block), start})
	c.block = append(append(c.block, c.text[start:end]...), '\n')
}

// flush reads the lines that were joined. A secret never goes over the end of a
// line here.
func (c *commentReader) flush() {
	line := 0
	for _, s := range assignments(c.block, c.data) {
		for line > 0 && c.lines[line].at > s.start {
			line--
		}
		for line+1 < len(c.lines) && c.lines[line+1].at <= s.start {
			line++
		}
		move := c.lines[line].from - c.lines[line].at
		c.found = append(c.found, span{s.start + move, s.end + move})
	}
	c.block, c.lines = c.block[:0], c.lines[:0]
}

// commentStart returns where a comment may start on a line: one # too many
// hides too much, never too little.
func commentStart(line []byte) int {
	for i, c := range line {
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}
