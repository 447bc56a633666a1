// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// span is a range of bytes.
type span struct{ start, end int }

// shapes returns the places of what looks like a secret by itself.
func shapes(text []byte) []span {
	var spans []span
	for _, s := range known {
		for _, m := range s.find(text) {
			at := span{m[len(m)-2], m[len(m)-1]}
			secret := string(text[at.start:at.end])
			if len(m) == 6 && (!secretKey(string(text[m[2]:m[3]])) || harmless(secret)) || s.is != nil && !s.is(secret) {
				continue
			}
			spans = append(spans, at)
		}
	}
	return spans
}

// assignment is a name and the rest of its line, in any syntax: a comment, an
// argument, a configuration file.
var assignment = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)["']?[ \t]*(?:=>|[=:])[ \t]*(\S.*)`)

// assigned returns the values of secrets in one line of free text, each up to
// the end of the line: nobody knows where it ends before.
func assigned(line []byte) (span, bool) {
	if !bytes.ContainsAny(line, "=:") {
		return span{}, false
	}
	for at := 0; at < len(line); {
		m := assignment.FindSubmatchIndex(line[at:])
		if m == nil {
			break
		}
		value := bytes.TrimRight(line[at+m[4]:at+m[5]], " \t\r")
		if secretKey(string(line[at+m[2]:at+m[3]])) && !harmless(string(value)) && !bytes.HasPrefix(value, []byte("//")) {
			return span{at + m[4], at + m[4] + len(value)}, true
		}
		at += m[3]
	}
	return span{}, false
}

// freeText returns the secrets of text that no reader structures.
func freeText(text []byte) []span {
	spans := shapes(text)
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		if s, found := assigned(text[start:end]); found {
			spans = append(spans, span{start + s.start, start + s.end})
		}
		start = end + 1
	}
	return spans
}

// comments returns the secrets in the comments of a document.
func comments(text []byte) []span {
	var spans []span
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		if i := commentStart(text[start:end]); i >= 0 {
			if s, found := assigned(text[start+i : end]); found {
				spans = append(spans, span{start + i + s.start, start + i + s.end})
			}
		}
		start = end + 1
	}
	return spans
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

var path = regexp.MustCompile(`^/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/?$`)

// harmless are values that say nothing: switches, paths, and references to a
// secret.
func harmless(v string) bool {
	switch strings.ToLower(strings.Trim(v, `"'`)) {
	case "", "true", "false", "null", "~", "yes", "no", "|", "|-", "|+", ">", ">-", "{}", "[]", Mark:
		return true
	}
	return strings.HasPrefix(v, "secret://") || path.MatchString(v) && !mixed(v)
}

var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "accesskey", "privatekey", "apikey", "sshkey", "credential", "clientkey", "kubeconfig"}

// references end the names of keys that point to a secret and hold none.
var references = []string{"name", "names", "namespace", "ref", "refs", "file", "path", "type", "kind", "class", "ttl", "webhook", "version", "url", "mode", "policy"}

// separators stand between the words of a key.
var separators = strings.NewReplacer("-", "", "_", "", ".", "")

// secretKey reports whether a key's value is a secret, going by its name.
func secretKey(key string) bool {
	lower := strings.ToLower(key)
	switch lower {
	case "auth", ".dockerconfigjson", ".dockercfg", "tls.key":
		return true
	}
	flat := separators.Replace(lower)
	for _, r := range references {
		if strings.HasSuffix(flat, r) {
			return false
		}
	}
	for _, w := range secretWords {
		if strings.Contains(flat, w) {
			return true
		}
	}
	return false
}

// mixed reports whether a long run of letters and digits is random: a hash in
// hex, a word or a path has no upper case, lower case and digits all at once.
func mixed(s string) bool {
	return len(s) >= 40 && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		strings.ContainsAny(s, "0123456789")
}
