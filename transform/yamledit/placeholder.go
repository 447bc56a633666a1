// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"regexp"
	"strings"
)

const unfilled = "a placeholder, which is not filled in"

// assumed is the flag with the release of files that have none, which is right for a placeholder as well.
const assumed = "--assume-version"

// placeholders are those of programs that make YAML of a text.
var placeholders = []struct {
	form    *regexp.Regexp
	program string
}{
	{regexp.MustCompile(`\{\{`), "helm template CHART"},
	{regexp.MustCompile(`\$\{\w`), "envsubst < FILE"},
	{regexp.MustCompile(`@@\w+@@|%[A-Z][A-Z_]+%|<%`), "PROGRAM"},
}

// placeholder returns what to do about a line of text with one; "" for none.
func placeholder(line string) string {
	if strings.Contains(line, "\n") { // a script can have variables
		return ""
	}
	for _, p := range placeholders {
		if p.form.MatchString(line) {
			return "fill it in, and plan the result: " + p.program + " | rke-lm plan -; then make the same edits here"
		}
	}
	return ""
}
