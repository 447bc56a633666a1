// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
)

// span is a range of bytes.
type span struct{ start, end int }

// scanner goes over a text once, from its start to its end, and finds secrets that
// show by their own form. What it looks ahead is bounded, or is passed over.
type scanner struct {
	text  []byte
	found []span
	line  lineFacts
	work  int // bytes looked at
}

// ahead bounds how far a single place may look ahead and back.
const ahead = 1024

// shapes returns the places of what looks like a secret by itself.
func shapes(text []byte) []span {
	s := scanner{text: text}
	s.scan()
	count(s.work + 2*len(text))
	return append(append(s.found, randoms(text)...), passwords(text)...)
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
		case c == '<':
			next = s.element(i)
		case byFirst[c] != nil || c == 'B' || c == 'b':
			if s.begins(i) {
				next = s.known(i)
			}
		}
		i = max(next, i+1)
	}
}

// begins reports whether a word begins here. In the escapes of JSON a letter may
// stand in front of it.
func (s *scanner) begins(i int) bool {
	if i == 0 || classOf(s.text[i-1]) == other && s.text[i-1] < 0x80 {
		return true
	}
	return i > 1 && s.text[i-2] == '\\' && bytes.IndexByte([]byte("nrtbf"), s.text[i-1]) >= 0
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
	return i + 1
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
	end := start
	for end < len(s.text) && joined[s.text[end]] {
		end++
	}
	s.work += end - i
	g := grainOf(s.text[start:end])
	if end-start < 8 || g.numbers == 0 && g.letters[1] <= 1 && s.text[end-1] != '=' {
		return start
	}
	return s.hide(start, end)
}

func skip(text []byte, i int, set string) int {
	for i < len(text) && bytes.IndexByte([]byte(set), text[i]) >= 0 {
		i++
	}
	return i
}

// until returns where one of some bytes is, at most so far ahead.
func until(text []byte, i int, set string) int {
	end := min(len(text), i+ahead)
	if at := bytes.IndexAny(text[i:end], set); at >= 0 {
		return i + at
	}
	return end
}

// dash looks at private keys and at flags.
func (s *scanner) dash(i int) int {
	rest := s.text[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("-----BEGIN ")):
		return s.privateKey(i)
	case bytes.HasPrefix(rest, []byte("----")):
		return i + 1
	case bytes.HasPrefix(rest, []byte("--")):
		return s.flag(i)
	case len(rest) > 2 && (i == 0 || bytes.IndexByte([]byte(" \t\"'\n`("), s.text[i-1]) >= 0):
		return s.shortFlag(i)
	}
	return i + 1
}

func (s *scanner) privateKey(i int) int {
	header := until(s.text, i+len("-----BEGIN "), "-\n")
	if !bytes.Contains(s.text[i:header], []byte("PRIVATE KEY")) {
		return header
	}
	end := len(s.text)
	if at := bytes.Index(s.text[header:], []byte("-----END ")); at >= 0 {
		end = until(s.text, header+at+len("-----END "), "-\n")
		end = skip(s.text, end, "-")
	}
	s.work += end - i
	return s.hide(i, end)
}

// flag hides the value that follows a flag, a secret, behind a blank.
func (s *scanner) flag(i int) int {
	start := i + len("--")
	end := start
	for end < len(s.text) && word[s.text[end]] {
		end++
	}
	at := skip(s.text, end, " \t")
	if at == end || at == len(s.text) || s.text[at] == '-' {
		return end
	}
	name := string(s.text[start:end])
	if secretKey(name) {
		return s.argument(at)
	}
	if name == "user" || name == "proxy-user" {
		return s.behindColon(at)
	}
	return end
}

// argument hides an argument on a command line, unless it says nothing.
func (s *scanner) argument(at int) int {
	start, end := s.quoted(at)
	if harmless(string(s.text[start:end])) {
		return end
	}
	return s.hide(start, end)
}

// behindColon hides the password in USER:PASSWORD.
func (s *scanner) behindColon(at int) int {
	start, end := s.quoted(at)
	colon := bytes.IndexByte(s.text[start:end], ':')
	if colon < 0 || colon+1 == end-start || bytes.HasPrefix(s.text[start+colon:end], []byte("://")) {
		return at
	}
	if secret := s.text[start+colon+1 : end]; harmless(string(secret)) || len(bytes.Trim(secret, "0123456789")) == 0 && len(bytes.Trim(s.text[start:start+colon], "0123456789")) == 0 {
		return at // user and group
	}
	return s.hide(start+colon+1, end)
}

// quoted returns the word of a shell that begins here, without its quotes.
func (s *scanner) quoted(at int) (start, end int) {
	quotes := skip(s.text, at, "\\")
	if quotes < len(s.text) && (s.text[quotes] == '"' || s.text[quotes] == '\'') {
		end := until(s.text, quotes+1, string(s.text[quotes])+"\n")
		for quotes > at && end > quotes+1 && s.text[end-1] == '\\' {
			end--
		}
		s.work += end - at
		return quotes + 1, end
	}
	end = until(s.text, at, " \t\r\n\"'`;|")
	s.work += end - at
	return at, end
}

// lineFacts is what a line says about its short flags.
type lineFacts struct {
	end    int
	secret byte // the letter of the flag with a password
}

// programs are known to take a password by a short flag.
var programs = []struct {
	name string
	flag byte
}{{"login", 'p'}, {"sshpass", 'p'}, {"mysql", 'p'}, {"mariadb", 'p'}, {"mongo", 'p'}, {"redis-cli", 'a'}, {"ldap", 'w'}, {"smbclient", 'p'}, {"unzip", 'P'}, {"sqlcmd", 'P'}, {"az ", 'p'}, {"ipmitool", 'P'}}

// secretFlag returns the letter of the short flag that has a password on this line.
func (s *scanner) secretFlag(i int) byte {
	if i < s.line.end {
		return s.line.secret
	}
	start, end := bytes.LastIndexByte(s.text[:i], '\n')+1, len(s.text)
	if at := bytes.IndexByte(s.text[i:], '\n'); at >= 0 {
		end = i + at
	}
	s.work += end - start
	s.line = lineFacts{end: end}
	for _, p := range programs {
		if bytes.Contains(s.text[start:end], []byte(p.name)) {
			s.line.secret = p.flag
			break
		}
	}
	return s.line.secret
}

// shortFlag hides the password of -u USER:PASSWORD and of programs that are known
// to take one.
func (s *scanner) shortFlag(i int) int {
	letter, at := s.text[i+1], skip(s.text, i+2, " \t=")
	if at == len(s.text) {
		return at
	}
	switch {
	case letter == 'u' || letter == 'U':
		return s.behindColon(at)
	case bytes.IndexByte([]byte("paPw"), letter) >= 0 && s.secretFlag(i) == letter && s.text[at] != '-':
		return s.argument(at)
	}
	return i + 1
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
	at := bytes.LastIndexByte(rest, '@')
	if at < 0 {
		return start
	}
	if colon := bytes.IndexAny(rest[:at], ":/"); colon >= 0 && rest[colon] == ':' {
		if portThenPath(rest[colon+1 : at]) {
			return start
		}
		return s.hide(start+colon+1, start+at)
	} else if colon >= 0 {
		return start // an @ in the path
	}
	if user := string(rest[:at]); user == "git" || !s.http(i) && !keyLike(user) || user == "" {
		return start
	}
	return s.hide(start, start+at)
}

func portThenPath(b []byte) bool {
	digits := 0
	for digits < len(b) && classOf(b[digits]) == digit {
		digits++
	}
	return digits > 0 && digits <= 5 && digits < len(b) && (b[digits] == '/' || b[digits] == '?')
}

// http reports whether the scheme in front of an offset is that of HTTP.
func (s *scanner) http(i int) bool {
	before := s.text[max(0, i-5):i]
	return bytes.HasSuffix(before, []byte("http")) || bytes.HasSuffix(before, []byte("https"))
}

// signatures are parameters of a URL that let everybody in who has it.
var signatures = map[string]bool{
	"sig": true, "signature": true, "xamzsignature": true, "xamzcredential": true, "xamzsecuritytoken": true,
	"xgoogsignature": true, "xgoogcredential": true, "key": true, "code": true, "hmac": true, "st": true, "auth": true, "apikey": true,
}

// parameter hides the value of a parameter of a URL.
func (s *scanner) parameter(i int) int {
	start := i + 1
	if bytes.HasPrefix(s.text[start:], []byte("amp;")) {
		start += len("amp;")
	}
	end := start
	for end < len(s.text) && end-start < 64 && (word[s.text[end]] || s.text[end] == '.') {
		end++
	}
	s.work += end - i
	if end == start || end == len(s.text) || s.text[end] != '=' {
		return start
	}
	name := string(s.text[start:end])
	value := end + 1
	stop := until(s.text, value, "& \t\r\n\"'#;<>\\`)")
	if !signatures[flatten(name)] && !secretKey(name) || harmless(string(s.text[value:stop])) {
		return end
	}
	s.work += stop - value
	return s.hide(value, stop)
}

// element hides what an element of XML with the name of a secret holds.
func (s *scanner) element(i int) int {
	start := i + 1
	end := start
	for end < len(s.text) && end-start < 64 && (word[s.text[end]] || s.text[end] == '.' || s.text[end] == ':' || s.text[end] >= 0x80) {
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
	limit := min(len(s.text), open+16*ahead)
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

// passwords returns the words of a text that are made as people make passwords.
func passwords(text []byte) (found []span) {
	const marks = "!#$^&~"
	for from := 0; from < len(text); {
		i := bytes.IndexAny(text[from:], marks)
		if i < 0 {
			break
		}
		start, end := from+i, from+i
		for start > from && bytes.IndexByte([]byte(" \t\r\n\"'`"), text[start-1]) < 0 && end-start < 128 {
			start--
		}
		for end < len(text) && bytes.IndexByte([]byte(" \t\r\n\"'`"), text[end]) < 0 && end-start < 256 {
			end++
		}
		if passwordLike(string(text[start:end])) {
			found = append(found, span{start, end})
		}
		from = end + 1
	}
	return found
}

// runs are made of the characters of base64, in both of its alphabets.
var runs = charsetOf("+/_-")

// randoms returns the tokens of a text that are random. Names of AWS have random
// parts, and are none.
func randoms(text []byte) (found []span) {
	const least = 20
	for i := 0; i < len(text); i++ {
		if !runs[text[i]] {
			continue
		}
		if text[i] == 'a' && bytes.HasPrefix(text[i:], []byte("arn:aws")) {
			i = until(text, i, " \t\r\n\"'\\,")
			continue
		}
		end := i
		for end < len(text) && runs[text[end]] {
			end++
		}
		start := i
		if i > 0 && text[i-1] == '\\' { // the letter of an escape
			start++
		}
		for ; end < len(text) && text[end] == '='; end++ {
		}
		if end-start >= least {
			found = append(found, randomIn(text, start, end)...)
		}
		i = end - 1
	}
	return found
}

// randomIn looks at a run as a whole, and at its pieces between the characters that
// join words.
func randomIn(text []byte, start, end int) (found []span) {
	const whole = 40
	if run := text[start:end]; end-start >= whole && bothCases(run) && random(run) && !slug(run) {
		return []span{{start, end}}
	}
	for i := start; i < end; {
		at := i
		for at < end && bytes.IndexByte([]byte("/_-="), text[at]) < 0 {
			at++
		}
		if random(text[i:at]) {
			found = append(found, span{i, at})
		}
		i = at + 1
	}
	return found
}

// slug reports whether a run is made of short words that hyphens or slashes join.
func slug(run []byte) bool {
	joints := bytes.Count(run, []byte("-")) + bytes.Count(run, []byte("/")) + bytes.Count(run, []byte("_"))
	return 8*joints > len(run)
}
