// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
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

// WriteFindings writes findings for people: one that repeats once, with all of its places.
func WriteFindings(w io.Writer, p Palette, findings []transform.Finding, indent string) {
	for _, same := range repeated(Findings(findings)) {
		f := same[0]
		var places []string
		for _, s := range same {
			places = append(places, words(where(s)))
		}
		fmt.Fprintf(w, "%s%s %s%s  %s\n", indent, p.severity(f.Severity), f.Rule, acceptedMark(f), strings.Join(places, ", "))
		fmt.Fprintln(w, p.wrap(f.Message, indent+"  "))
		if f.Fix != "" {
			fmt.Fprintln(w, p.wrap("→ "+f.Fix, indent+"  "))
		}
	}
}

// repeated joins findings that differ in their places alone.
func repeated(findings []transform.Finding) [][]transform.Finding {
	var groups [][]transform.Finding
	for _, f := range findings {
		same := func(g []transform.Finding) bool {
			first := g[0]
			first.File, first.Line, first.Path, first.Offset = f.File, f.Line, f.Path, f.Offset
			return first == f
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], f)
			continue
		}
		groups = append(groups, []transform.Finding{f})
	}
	return groups
}

// list joins names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
