// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Findings returns findings for programs: never null, and without what looks
// like a secret. Rules name keys and arguments, and people put secrets into odd
// places.
func Findings(list []transform.Finding) []transform.Finding {
	shown := make([]transform.Finding, len(list))
	for i, f := range list {
		f.Path, f.Message, f.Fix = redact.Text(f.Path), redact.Text(f.Message), redact.Text(f.Fix)
		shown[i] = f
	}
	return shown
}

// where is the place in a file, or the object of a cluster.
func where(f transform.Finding) string {
	if f.File == "" {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// WriteFindings writes findings for people.
func WriteFindings(w io.Writer, p Palette, findings []transform.Finding, indent string) {
	for _, f := range Findings(findings) {
		accepted := ""
		if f.Accepted {
			accepted = ", accepted"
		}
		fmt.Fprintf(w, "%s%s %s%s  %s\n", indent, p.severity(f.Severity), f.Rule, accepted, words(where(f)))
		fmt.Fprintln(w, wrap(f.Message, indent+"  "))
		if f.Fix != "" {
			fmt.Fprintln(w, wrap("→ "+f.Fix, indent+"  "))
		}
	}
}

// list joins names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
