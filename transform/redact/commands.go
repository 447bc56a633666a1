// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

const argument = `("[^"\n]*"|'[^'\n]*'|[^\s|"'` + "`" + `;&>]+)`

// forms are texts around a secret, which their one group matches. A text has the mark of those that it may have.
var forms = []struct {
	mark string
	form *regexp.Regexp
}{
	{"--password-stdin", regexp.MustCompile(`\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)*(?:["']?%s(?:\\+n)?["']?[ \t]+)?` + argument + `[ \t]*\|[^\n]*--password-stdin`)},
	{"chpasswd", regexp.MustCompile(`\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)*` + argument + `[ \t]*\|[^\n]*\bchpasswd`)},
	{"chpasswd", regexp.MustCompile(`\bchpasswd[^\n|;&<]*<<<[ \t]*` + argument)},
	{"htpasswd", regexp.MustCompile(`\bhtpasswd[ \t](?:[^\n|;&>]*?[ \t])?-[A-Za-z]*b[A-Za-z]*[ \t][^\n|;&>]*?[ \t]` + argument + `[ \t]*(?m:[|;&>)"'\\` + "`" + `]|$)`)},
	{"@tcp", dataSource}, {"@udp", dataSource}, {"@unix", dataSource}, {"@cloudsql", dataSource},
}

// dataSource is USER:PASSWORD@PROTOCOL(ADDRESS), as drivers of Go have it.
var dataSource = regexp.MustCompile(`[^\s:@/"'=]+:([^\s@"'/][^\s@"']*)@(?:tcp[46]?|udp|unix|cloudsql[a-z-]*)\(`)

var shellVariable = regexp.MustCompile(`^"?\$\w+"?$`)

// property is a name and a value in XML.
var property = regexp.MustCompile(`(?s)<name>\s*([^<]*?)\s*</name>\s*<value>(.*?)</value>`)

// surrounded returns the secrets that what is around them shows.
func surrounded(text []byte) (found []span) {
	for _, f := range forms {
		if !bytes.Contains(text, []byte(f.mark)) {
			continue
		}
		for _, m := range f.form.FindAllSubmatchIndex(text, -1) {
			if v := string(text[m[2]:m[3]]); !harmless(v) && !shellVariable.MatchString(v) {
				found = append(found, span{m[2], m[3]})
			}
		}
	}
	if bytes.Contains(text, []byte("<value>")) {
		for _, m := range property.FindAllSubmatchIndex(text, -1) {
			if secretKey(string(text[m[2]:m[3]])) && !harmless(string(bytes.TrimSpace(text[m[4]:m[5]]))) {
				found = append(found, span{m[4], m[5]})
			}
		}
	}
	return found
}

// bootstrapToken hides the ID and the secret of a token of kubeadm, as abcdef.0123456789abcdef, around its point.
func (s *scanner) bootstrapToken(i int) int {
	const id, secret = 6, 16
	start, end := i-id, i+1+secret
	if start < 0 || end > len(s.text) || !s.begins(start) || start > 0 && dotted[s.text[start-1]] && s.text[start-1] != '=' || end < len(s.text) && word[s.text[end]] {
		return i + 1
	}
	letters, digits := 0, 0
	for at := start; at < end; at++ {
		switch classOf(s.text[at]) {
		case lower:
			letters++
		case digit:
			digits++
		default:
			if at != i {
				return i + 1
			}
		}
	}
	if s.work += end - start; letters == 0 || digits < 2 {
		return i + 1
	}
	return s.hide(start, end)
}

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

// dash looks at private keys and at flags.
func (s *scanner) dash(i int) int {
	rest := s.text[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("----")):
		return s.privateKey(i)
	case bytes.HasPrefix(rest, []byte("--")):
		return s.flag(i)
	case len(rest) > 2 && (i == 0 || strings.IndexByte(" \t\"'\n`(=", s.text[i-1]) >= 0):
		return s.shortFlag(i)
	}
	return i + 1
}

// flag hides the argument that follows a flag and a blank, where the flag names a secret.
func (s *scanner) flag(i int) int {
	start := i + len("--")
	end := start
	for end < len(s.nameAt(start)) && (dotted[s.text[end]] && s.text[end] != '=' || s.text[end] >= 0x80) {
		end++
	}
	s.work += end - i
	at := skip(s.text, end, " \t")
	if at == end || at == len(s.text) || s.text[at] == '-' {
		return end
	}
	name := string(s.text[start:end])
	if secretKey(string(s.text[i:end])) {
		return s.argument(at)
	}
	if name == "user" || name == "proxy-user" {
		return s.afterColon(at)
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

// afterColon hides the password in USER:PASSWORD.
func (s *scanner) afterColon(at int) int {
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

// programs are known to take a password by a short flag.
var programs = map[byte][]string{
	'a': {"redis-cli"}, 'p': {"login", "sshpass", "mysql", "mariadb", "mongo", "smbclient", "az "}, 'w': {"ldap"}, 'P': {"unzip", "sqlcmd", "ipmitool"},
}

// takesPassword reports whether a program in front of a short flag on its line takes a password by it.
func (s *scanner) takesPassword(i int) bool {
	line := s.text[max(0, i-lookahead):i]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	s.work += len(line)
	return slices.ContainsFunc(programs[s.text[i+1]], func(name string) bool { return bytes.Contains(line, []byte(name)) })
}

// shortFlag hides the password of -u USER:PASSWORD, of programs that are known to take one, and what follows -p and may be
// one.
func (s *scanner) shortFlag(i int) int {
	letter, at := s.text[i+1], skip(s.text, i+2, " \t=")
	if at == len(s.text) {
		return at
	}
	if letter == 'u' || letter == 'U' {
		return s.afterColon(at)
	}
	start, end := s.quoted(at)
	if letter == 'p' && s.text[i+2] == ' ' && !plainArgument(string(s.text[start:end])) && !bytes.HasSuffix(s.text[:i], []byte("mkdir ")) ||
		start < end && strings.IndexByte("-,]}", s.text[start]) < 0 && s.takesPassword(i) {
		return s.argument(at)
	}
	return i + 1
}
