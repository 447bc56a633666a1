// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Findings returns findings for programs: never null, and without what looks
// like a secret: rules name keys and arguments, and people put secrets into odd
// places. They have no offset, so that what is shown alike is equal.
func Findings(list []transform.Finding) []transform.Finding {
	shown := make([]transform.Finding, len(list))
	for i, f := range list {
		f.FormerRule, f.Offset = transform.FormerName(f.Rule), 0
		f.Path, f.Message, f.Fix = redact.Text(f.Path), redact.Text(f.Message), redact.Text(f.Fix)
		shown[i] = f
	}
	return shown
}

// where is the place in a file, or the object of a cluster.
func where(f transform.Finding) string {
	switch {
	case f.File == "":
		return f.Path
	case f.Line == 0: // it is about the file
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// WriteFindings writes findings for people: one that repeats once, with all of its places.
func WriteFindings(w io.Writer, p Palette, findings []transform.Finding, indent string) {
	for _, same := range repeated(Findings(findings)) {
		f := same[0]
		fmt.Fprintf(w, "%s%s %s%s  %s\n", indent, p.severity(f.Severity), f.Rule, acceptedMark(f), words(list(lists.Map(same, where))))
		fmt.Fprintln(w, p.Wrap(f.Message, indent+"  "))
		if f.Fix != "" {
			fmt.Fprintln(w, p.Wrap("→ "+f.Fix, indent+"  "))
		}
	}
}

// repeated joins findings that differ in their places alone.
func repeated(findings []transform.Finding) [][]transform.Finding {
	var groups [][]transform.Finding
	at := map[transform.Finding]int{} // the group of each, without a place
	for _, f := range findings {
		key := f
		key.File, key.Line, key.Path = "", 0, ""
		i, known := at[key]
		if !known {
			i, groups = len(groups), append(groups, nil)
			at[key] = i
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// list joins names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
