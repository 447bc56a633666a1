// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"
	"strings"
)

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
