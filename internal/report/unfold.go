// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"regexp"
	"strings"
)

// longText is a line of JSON with a string of several lines.
var longText = regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*": )?("(?:[^"\\]|\\.)*\\n(?:[^"\\]|\\.)*"),?$`)

// unfolded shows strings of several lines line by line, so that a diff shows what
// changes in a manifest and not the whole of it. The result is for people alone.
func unfolded(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		m := longText.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		var value string
		if m == nil || json.Unmarshal([]byte(m[3]), &value) != nil {
			b.WriteString(line)
			continue
		}
		b.WriteString(m[1] + m[2] + "|\n")
		for part := range strings.Lines(value) {
			b.WriteString(m[1] + "  " + strings.TrimSuffix(part, "\n") + "\n")
		}
		if strings.HasSuffix(value, "\n") {
			b.WriteString(m[1] + "  \n") // one more line than without the last break
		}
	}
	return b.String()
}
