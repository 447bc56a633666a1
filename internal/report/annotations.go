// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// WriteGitHub writes findings as workflow commands to an EscapingWriter, from which GitHub makes annotations
// of the lines of a pull request.
func (r *Results) WriteGitHub(w io.Writer) {
	for _, f := range r.All() {
		annotate(w, command(f), f.File, f.Line, f.Rule+acceptedMark(f), explained(f))
	}
	for _, e := range r.Errors {
		annotate(w, "error", e.File, e.Line, cmp.Or(e.Rule, "rke-lm "+r.Verb), e.Message)
	}
}

// command is what GitHub calls the severity. What is accepted does not fail a check.
func command(f transform.Finding) string {
	switch {
	case f.Stops():
		return "error"
	case f.Severity == transform.Note, f.Accepted:
		return "notice"
	}
	return "warning"
}

func annotate(w io.Writer, command, file string, line int, title, message string) {
	place := ""
	if file != "" {
		place = "file=" + property.Replace(filepath.ToSlash(file)) + ","
		if line > 0 {
			place += fmt.Sprintf("line=%d,", line)
		}
	}
	fmt.Fprintf(w, "%s::%s %stitle=%s::%s\n", mark, command, place, property.Replace(title), data.Replace(message))
}

// How workflow commands escape text (actions/toolkit, packages/core/src/command.ts).
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
