// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Disguised reports whether a text may hold words that a search of its bytes does not find: by
// an escape that is for a letter or joins lines, by a tag for base64, or because it is UTF-16.
// All other spellings of YAML and JSON, with aliases too, have every word of a value in them.
func Disguised(text []byte) bool {
	for _, form := range []string{"\x00", "!!", "!<", "%TAG"} {
		if bytes.Contains(text, []byte(form)) {
			return true
		}
	}
	for i := indexFrom(text, 0, '\\'); i+1 < len(text); i = indexFrom(text, i+1, '\\') {
		if strings.IndexByte("xuU/", text[i+1]) >= 0 || breakLen(text[i+1:]) > 0 {
			return true
		}
	}
	return false
}

var (
	jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	jsonEscape = regexp.MustCompile(`(?:\\u[dD][89a-fA-F]..){1,2}|\\.`)
)

// plainJSON returns JSON as the YAML library reads it, which knows neither \/ nor the surrogates
// of a character. Blanks after a string replace what it loses, so all places stay.
func plainJSON(text []byte) []byte {
	odd := func(form string) bool { return bytes.Contains(text, []byte(form)) }
	if !odd(`\/`) && !odd(`\ud`) && !odd(`\uD`) || !json.Valid(text) {
		return text
	}
	return jsonString.ReplaceAllFunc(text, func(s []byte) []byte {
		plain := jsonEscape.ReplaceAllFunc(s, func(escape []byte) []byte {
			var char string
			if escape[1] != '/' && len(escape) == 2 || json.Unmarshal([]byte(`"`+string(escape)+`"`), &char) != nil {
				return escape
			}
			return []byte(char)
		})
		return append(plain, bytes.Repeat([]byte(" "), utf8.RuneCount(s)-utf8.RuneCount(plain))...)
	})
}

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

// Placeholder reports whether a text has one that is not filled in.
func Placeholder(text string) bool { return placeholder(text) != "" }

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
