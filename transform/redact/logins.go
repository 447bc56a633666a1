// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
)

// pair is a name and a value with a blank between them, and login begins a line of a .netrc.
var (
	pair  = regexp.MustCompile(`([^\s=:]+)[ \t]+([^\s=:]\S*)`)
	login = regexp.MustCompile(`^(?:machine|default|login)\s`)
	prose = regexp.MustCompile(`^[a-z]+$`)
)

// pairs hides the values of a line of names and values without a separator: requirepass SECRET, or machine NAME login
// NAME password SECRET. A line of two words is one, unless it is a message of its own.
func (o *outline) pairs(at, end int) (found bool) {
	line := o.text[at:min(end, at+lookahead)]
	if !bytes.ContainsAny(line, " \t") {
		return false
	}
	if first := pair.FindIndex(line); first == nil || first[1] < len(line) && !login.Match(line) {
		return false
	}
	message := len(bytes.TrimSpace(o.text)) == len(line)
	for _, p := range pair.FindAllSubmatchIndex(line, -1) {
		name, value := string(line[p[2]:p[3]]), line[p[4]:p[5]]
		if (secretKey(name) || name == "account") && !harmless(string(value)) && !(message && prose.Match(value)) {
			o.hide(at+p[4], at+p[5])
			found = true
		}
	}
	return found
}

// passwordLine is one of a .pgpass: HOST:PORT:DATABASE:USER:PASSWORD.
var passwordLine = regexp.MustCompile(`^([^: \t"'={}]+):(?:[0-9]{2,}|\*):[^: \t"'={}]*:[^: \t"'={}]*:([^ \t"'={}]+)$`)

// passwordFile hides the password on a line of a .pgpass. What is hexadecimal in place of the host is an address.
func (o *outline) passwordFile(at, end int) bool {
	line := o.text[at:end]
	if bytes.Count(line, []byte(":")) < 4 {
		return false
	}
	m := passwordLine.FindSubmatchIndex(line)
	if m == nil || len(bytes.Trim(line[:m[3]], "0123456789abcdefABCDEF")) == 0 {
		return false
	}
	o.hide(at+m[4], end)
	return true
}
