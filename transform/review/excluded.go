// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// Listed is the finding about a file that a plan.json lists, and that no plan of its cluster has.
func Listed(file string, of transform.Identity) []transform.Finding {
	f := transform.Finding{File: file, Line: 1, Message: "plan.json lists it as a file of the plan of " + of.Title() + ", and it is not: once this is merged, no verb reads it as a cluster", Fix: "plan that cluster again with --out, or remove the folder of the plan from the change"}
	return listedFile.Report([]transform.Finding{f}, nil)
}

// Excluded is the finding about changed files that a pattern leaves out. The pattern of a flag can be
// that of a workflow in the change; one of the configuration is that of the base.
func Excluded(pattern string, files int, hidden []string, configured bool, accepted []string) []transform.Finding {
	f := transform.Finding{Severity: transform.Note, Message: fmt.Sprintf("exclude %s leaves out changed files: %d", pattern, files), Fix: "nothing, if they are no clusters"}
	if len(hidden) > 0 {
		f.Severity, f.File, f.Fix = transform.Error, hidden[0], "remove the pattern, or set it in the configuration of the base"
		f.Message += "; clusters change in " + strings.Join(hidden, ", ")
	}
	if len(hidden) > 0 && configured {
		f.Severity, f.Fix = transform.Warning, "review them as well, or remove the pattern from the configuration"
	}
	return excludedChange.Report([]transform.Finding{f}, accepted)
}
