// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
)

// shape is a kind of secret that shows by its own form. The last group, where
// there is one, is the secret; else the whole match is. A group before it is a
// name, and must be that of a secret.
type shape struct {
	has *regexp.Regexp
	// near is a quick look for what every match has; nil where the expression
	// begins with it, and finds it quickly itself.
	near func(text []byte) bool
	is   func(secret string) bool // nil for always
}

var known = []shape{
	{has: regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)},
	{has: regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b`), near: holds("AKIA", "ASIA", "AGPA", "AIDA", "AROA")},
	{has: regexp.MustCompile(`[A-Za-z0-9/+]{40,}={0,2}`), near: holdsLongRun, is: mixed},
	{has: regexp.MustCompile(`\b(?:token|kubeconfig-[a-z0-9-]+)-[a-z0-9]{5,}:[a-z0-9]{20,}`), near: holds("token-", "kubeconfig-")},
	{has: regexp.MustCompile(`://[^/\s:@"']*:([^\s"']+)@`)},
	{has: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), near: holds("eyJ")},
	{has: regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{16,}`), near: holds("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox")},
	{has: regexp.MustCompile(`\bK10[A-Za-z0-9_:./+=-]{16,}`), near: holds("K10")},
	{has: regexp.MustCompile(`(?i)\b(?:bearer|basic|authorization: token) +([A-Za-z0-9+/_=.:-]{8,})`), near: holdsFolded("bearer ", "basic ", "authorization: token ")},
	{has: regexp.MustCompile(`--([A-Za-z][A-Za-z0-9-]*)[ \t]+["']?([^\s"'-][^\s"']*)`)},
	{has: regexp.MustCompile(`name:[ \t]*["']?([A-Za-z0-9_.-]+)["']?[ \t]*\r?\n[^\n]*value:[ \t]*([^\r\n]+)`)},
}

// holds looks for one of several texts.
func holds(marks ...string) func([]byte) bool {
	return func(text []byte) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return bytes.Contains(text, []byte(m)) })
	}
}

// holdsFolded does so in any case.
func holdsFolded(marks ...string) func([]byte) bool {
	find := holds(marks...)
	return func(text []byte) bool { return find(bytes.ToLower(text)) }
}

// holdsLongRun looks for a run of characters of base64 that is as long as an AWS
// secret access key.
func holdsLongRun(text []byte) bool {
	run := 0
	for _, c := range text {
		run++
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '+') {
			run = 0
		}
		if run == 40 {
			return true
		}
	}
	return false
}
