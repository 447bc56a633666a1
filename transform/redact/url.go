// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
)

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
