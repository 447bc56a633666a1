// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// span is a range of bytes.
type span struct{ start, end int }

// scanner goes over a text once, from its start to its end, and finds secrets that
// show by their own form. It reads a bounded number of bytes further, or skips what it read.
type scanner struct {
	text  []byte
	found []span
	work  int // bytes looked at
}

// lookahead bounds how far from a single place a text is read, in both directions.
const lookahead = 1024

// shapes returns the places of what looks like a secret by itself, in a range of a text.
func shapes(text []byte, in span) []span {
	text = text[in.start:in.end]
	s := scanner{text: text}
	s.scan()
	count(s.work + 2*len(text))
	found := slices.Concat(s.found, randoms(text), passwords(text), surrounded(text))
	for i := range found {
		found[i].start, found[i].end = found[i].start+in.start, found[i].end+in.start
	}
	return found
}

func (s *scanner) scan() {
	for i := 0; i < len(s.text); {
		s.work++
		next := i + 1
		switch c := s.text[i]; {
		case c == '-':
			next = s.dash(i)
		case c == ':':
			next = s.address(i)
		case c == '?', c == '&', c == ';':
			next = s.parameter(i)
		case c == '.':
			next = s.bootstrapToken(i)
		case c == '<':
			next = s.element(i)
		case byFirst[c] != nil || c == 'b' || classOf(c) == upper:
			if s.begins(i) {
				next = s.known(i)
			}
		}
		i = max(next, i+1)
	}
}

// begins reports whether a word begins here. In the escapes of JSON a letter may
// be in front of it.
func (s *scanner) begins(i int) bool {
	if i == 0 || classOf(s.text[i-1]) == other && s.text[i-1] < 0x80 {
		return true
	}
	return i > 1 && s.text[i-2] == '\\' && strings.IndexByte("nrtbf", s.text[i-1]) >= 0
}

func (s *scanner) hide(start, end int) int {
	if start < end {
		s.found = append(s.found, span{start, end})
	}
	return end
}

// known looks for what begins as a secret does.
func (s *scanner) known(i int) int {
	for _, p := range byFirst[s.text[i]] {
		if n := p.length(s.text[i:]); n > 0 {
			s.work += n
			return s.hide(i, i+n)
		}
	}
	for _, scheme := range []string{"bearer", "basic"} {
		if hasFold(s.text[i:], scheme) {
			return s.credentials(i + len(scheme))
		}
	}
	switch {
	case classOf(s.text[i]) == lower: // names of variables begin otherwise
		return i + 1
	case bytes.HasPrefix(s.text[i:], []byte("PuTTY-User-Key-File-")):
		return s.block(i, i, "Private-MAC:")
	}
	return s.variable(i)
}

// variable hides what follows the name of a variable and a blank, as in ENV NAME VALUE.
func (s *scanner) variable(i int) int {
	end := skip(s.nameAt(i), i, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	s.work += end - i
	at := skip(s.text, end, " \t")
	if at == end || at == len(s.text) || strings.IndexByte("=:#,\r\n", s.text[at]) >= 0 || !secretKey(string(s.text[i:end])) {
		return i + 1
	}
	if start, stop := s.quoted(at); isVariable(string(s.text[start:stop])) {
		return end
	}
	return s.argument(at)
}

func hasFold(text []byte, lower string) bool {
	return len(text) >= len(lower) && bytes.EqualFold(text[:len(lower)], []byte(lower))
}

// credentials hides what follows the scheme of an Authorization header.
func (s *scanner) credentials(i int) int {
	start := skip(s.text, i, " \t+")
	if start == i {
		return i
	}
	end := joined.end(s.text, start)
	s.work += end - i
	g := grainOf(s.text[start:end])
	if end-start < 8 || g.numbers == 0 && g.letters[1] <= 1 && s.text[end-1] != '=' {
		return start
	}
	return s.hide(start, end)
}

// nameAt is the text up to where a name ends that begins at an offset.
func (s *scanner) nameAt(i int) []byte {
	const longest = 64
	return s.text[:min(len(s.text), i+longest)]
}

func skip(text []byte, i int, set string) int {
	for i < len(text) && strings.IndexByte(set, text[i]) >= 0 {
		i++
	}
	return i
}

// until returns where one of some bytes is, at most lookahead bytes further.
func until(text []byte, i int, set string) int {
	end := min(len(text), i+lookahead)
	if at := bytes.IndexAny(text[i:end], set); at >= 0 {
		return i + at
	}
	return end
}

// privateKey hides a key from its header to its end.
func (s *scanner) privateKey(i int) int {
	start := skip(s.text, i, "-")
	header := until(s.text, start, "-\n")
	if !bytes.HasPrefix(bytes.TrimLeft(s.text[start:header], " "), []byte("BEGIN ")) ||
		!bytes.Contains(s.text[start:header], []byte("PRIVATE KEY")) && !bytes.Contains(s.text[start:header], []byte("Static key")) {
		return header
	}
	return s.block(i, header, "END ")
}

// block hides what is from i to the end of the words after its last mark; without one, the rest of the text.
func (s *scanner) block(i, from int, last string) int {
	end := len(s.text)
	if at := bytes.Index(s.text[from:], []byte(last)); at >= 0 {
		end = keyWords.end(s.text, from+at+len(last))
	}
	s.work += end - i
	return s.hide(i, end)
}

// element hides what an element of XML with the name of a secret holds.
func (s *scanner) element(i int) int {
	start := i + 1
	end := start
	for end < len(s.nameAt(start)) && (word[s.text[end]] || s.text[end] == '.' || s.text[end] == ':' || s.text[end] >= 0x80) {
		end++
	}
	s.work += end - i
	if end == start {
		return start
	}
	name := s.text[start:end]
	if !secretKey(string(name[bytes.LastIndexByte(name, ':')+1:])) {
		return end
	}
	open := until(s.text, end, ">\n")
	if open == len(s.text) || s.text[open] != '>' || s.text[open-1] == '/' {
		return end
	}
	limit := min(len(s.text), open+16*lookahead)
	length := bytes.Index(s.text[open+1:limit], append([]byte("</"), name...))
	if length < 0 {
		return open
	}
	s.work += length
	if harmless(string(bytes.TrimSpace(s.text[open+1 : open+1+length]))) {
		return open
	}
	return s.hide(open+1, open+1+length)
}

// address hides the password of a URL, or the token that it has in its place.
func (s *scanner) address(i int) int {
	if !bytes.HasPrefix(s.text[i:], []byte("://")) {
		return i + 1
	}
	start := i + len("://")
	end := until(s.text, start, " \t\r\n\"'<>`")
	s.work += end - start
	rest := s.text[start:end]
	if query := bytes.IndexAny(rest, "?#"); query >= 0 && bytes.HasSuffix(s.text[:i], []byte("aws")) { // a provider ID has none
		return s.hide(start+query+1, end)
	}
	at := bytes.LastIndexByte(rest, '@')
	if at < 0 {
		return start
	}
	if colon := bytes.IndexAny(rest[:at], ":/"); colon >= 0 && rest[colon] == ':' {
		if portThenPath.Match(rest[colon+1 : at]) {
			return start
		}
		return s.hide(start+colon+1, start+at)
	} else if colon >= 0 {
		return start // an @ in the path
	}
	if user := string(rest[:at]); user == "git" || user == "" || !http.Match(s.text[max(0, i-len("https")):i]) && !anyRandom([]byte(user)) {
		return start
	}
	return s.hide(start, start+at)
}

var (
	portThenPath = regexp.MustCompile(`^[0-9]{1,5}[/?]`)
	http         = regexp.MustCompile(`https?$`)
)

// signatures are parameters of a URL that let everybody in who has it.
var signatures = []string{"sig", "signature", "xamzsignature", "xgoogsignature", "key", "code", "hmac", "st", "auth"}

// parameter hides the value of a parameter of a URL.
func (s *scanner) parameter(i int) int {
	start := i + 1
	if bytes.HasPrefix(s.text[start:], []byte("amp;")) {
		start += len("amp;")
	}
	end := parameterName.end(s.nameAt(start), start)
	s.work += end - i
	if end == start || end == len(s.text) || s.text[end] != '=' {
		return start
	}
	name := string(s.text[start:end])
	value := end + 1
	stop := until(s.text, value, "& \t\r\n\"'#;<>\\`)")
	if !slices.Contains(signatures, flatten(name)) && !secretKey(name) || harmless(string(s.text[value:stop])) {
		return end
	}
	s.work += stop - value
	return s.hide(value, stop)
}
