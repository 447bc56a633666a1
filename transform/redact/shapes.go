// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// shape is a kind of secret that shows by its own form. The first group, where
// there is one, is the secret; else the whole match is.
type shape struct {
	has *regexp.Regexp
	is  func(secret string) bool // nil for always
}

var known = []shape{
	{has: regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)},
	{has: regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b`)},
	{has: regexp.MustCompile(`[A-Za-z0-9/+]{40,}={0,2}`), is: mixed},
	{has: regexp.MustCompile(`\b(?:token|kubeconfig-[a-z0-9-]+)-[a-z0-9]{5,}:[a-z0-9]{20,}`)},
	{has: regexp.MustCompile(`://[^/\s:@"']*:([^/\s@"']+)@`)},
	{has: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)},
	{has: regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|K10)[A-Za-z0-9_:.-]{16,}`)},
	{has: regexp.MustCompile(`(?i)\b(?:bearer|basic) +([A-Za-z0-9+/_=.:-]{8,})`)},
}

// assignment is a name and its value on one line, in any syntax: an argument, a
// comment, a configuration file.
var assignment = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)["']?[ \t]*[=:][ \t]*(?:"([^"\r\n]+)"|'([^'\r\n]+)'|([^\s"',#{}\[\]|>&*](?:[^\s"',]*[^\s"',\]}])?))`)

// shapes returns the places of what looks like a secret.
func shapes(text []byte) [][2]int {
	var spans [][2]int
	for _, s := range known {
		for _, m := range s.has.FindAllSubmatchIndex(text, -1) {
			span := [2]int{m[0], m[1]}
			if len(m) > 2 {
				span = [2]int{m[2], m[3]}
			}
			if s.is == nil || s.is(string(text[span[0]:span[1]])) {
				spans = append(spans, span)
			}
		}
	}
	return append(spans, assignments(text)...)
}

// assignments looks only near the words that a secret's name contains: the
// pattern itself would fit every line.
func assignments(text []byte) [][2]int {
	var spans [][2]int
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		line := text[start:end]
		if hasSecretWord(line) {
			for at := 0; at < len(line); {
				m := assignment.FindSubmatchIndex(line[at:])
				if m == nil {
					break
				}
				next := at + m[3] // values may hold assignments of their own
				if name := string(line[at+m[2] : at+m[3]]); secretKey(name) {
					if v := group(m); !harmless(string(line[at+v[0] : at+v[1]])) {
						spans = append(spans, [2]int{start + at + v[0], start + at + v[1]})
						next = at + v[1]
					}
				}
				at = next
			}
		}
		start = end
	}
	return spans
}

// group returns the value of an assignment, quoted or not.
func group(m []int) [2]int {
	for i := 4; i < len(m); i += 2 {
		if m[i] >= 0 {
			return [2]int{m[i], m[i+1]}
		}
	}
	return [2]int{}
}

// harmless are values that say nothing: switches, and references to a secret.
func harmless(v string) bool {
	switch strings.ToLower(v) {
	case "true", "false", "null", "~", "yes", "no", Mark:
		return true
	}
	return strings.HasPrefix(v, "secret://") || strings.HasPrefix(v, "/")
}

var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "accesskey", "access-key", "access_key", "privatekey", "private-key", "private_key", "apikey", "api-key", "api_key", "sshkey", "ssh-key", "ssh_key", "credential", "clientkey", "kubeconfig"}

func hasSecretWord(line []byte) bool {
	lower := bytes.ToLower(line)
	for _, w := range secretWords {
		if bytes.Contains(lower, []byte(w)) {
			return true
		}
	}
	return false
}

// references end the names of keys that point to a secret and hold none.
var references = []string{"name", "names", "namespace", "ref", "refs", "file", "path", "type", "kind", "class", "ttl", "id", "webhook", "version", "url", "mode", "policy"}

// secretKey reports whether a key's value is a secret, going by its name.
func secretKey(key string) bool {
	lower := strings.ToLower(key)
	switch lower {
	case "auth", "identitytoken", ".dockerconfigjson", ".dockercfg", "tls.key", "secretkey":
		return true
	}
	flat := strings.NewReplacer("-", "", "_", "", ".", "").Replace(lower)
	for _, r := range references {
		if strings.HasSuffix(flat, r) && !strings.HasSuffix(flat, "accesskeyid") {
			return false
		}
	}
	return hasSecretWord([]byte(lower)) || hasSecretWord([]byte(flat))
}

// mixed reports whether a long run of letters and digits is random: a hash in
// hex or a word has no upper case, lower case and digits all at once.
func mixed(s string) bool {
	return strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		strings.ContainsAny(s, "0123456789") && !strings.HasPrefix(s, "/")
}
