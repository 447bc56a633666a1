// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
)

// shape is a kind of secret that shows by its own form. The last group, where
// there is one, is the secret; else the whole match is. A group before it is a
// name, and must be that of a secret.
type shape struct {
	has *regexp.Regexp
	// where is a quick look for the parts of a text that matches are in, in their
	// order; nil for the text as a whole.
	where func(text []byte) []span
	is    func(secret string) bool // nil for always
}

var known = []shape{
	{has: regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)},
	{has: regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b`), where: lines("AKIA", "ASIA", "AGPA", "AIDA", "AROA")},
	{has: regexp.MustCompile(`[A-Za-z0-9/+]{40,}={0,2}`), where: longRuns, is: mixed},
	{has: regexp.MustCompile(`\b(?:token|kubeconfig-[a-z0-9-]+)-[a-z0-9]{5,}:[a-z0-9]{20,}`), where: lines("token-", "kubeconfig-")},
	{has: regexp.MustCompile(`://[^/\s:@"']*:([^\s"']+)@`), where: lines("://")},
	{has: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), where: lines("eyJ")},
	{has: regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{16,}`), where: lines("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox")},
	{has: regexp.MustCompile(`\bK10[A-Za-z0-9_:./+=-]{16,}`), where: lines("K10")},
	{has: regexp.MustCompile(`(?i)\b(?:bearer|basic|authorization: token) +([A-Za-z0-9+/_=.:-]{8,})`), where: folded(lines("bearer ", "basic ", "authorization: token "))},
	{has: regexp.MustCompile(`--([A-Za-z][A-Za-z0-9-]*)[ \t]+["']?([^\s"'-][^\s"']*)`), where: lines("--")},
	{has: regexp.MustCompile(`name:[ \t]*["']?([A-Za-z0-9_.-]+)["']?[ \t]*\r?\n[^\n]*value:[ \t]*([^\r\n]+)`), where: pairs(lines("value:"))},
}

// find returns the matches in a text.
func (s shape) find(text []byte) [][]int {
	if s.where == nil {
		return s.has.FindAllSubmatchIndex(text, -1)
	}
	var found [][]int
	for _, at := range s.where(text) {
		for _, m := range s.has.FindAllSubmatchIndex(text[at.start:at.end], -1) {
			for i := range m {
				m[i] += at.start
			}
			found = append(found, m)
		}
	}
	return found
}
