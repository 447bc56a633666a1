// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// Acceptance is a rule that a configuration accepts, and where.
type Acceptance struct {
	Rule string
	File string
	Line int
}

// Acceptances are the findings about rules that the configuration accepts after the change
// and not before it. They are errors where the change touches clusters as well.
func Acceptances(before, after []Acceptance, touches bool) []transform.Finding {
	var found []transform.Finding
	for _, a := range after {
		if slices.ContainsFunc(before, func(b Acceptance) bool { return b.Rule == a.Rule }) {
			continue
		}
		f := transform.Finding{File: a.File, Line: a.Line, Path: "accept", Message: "the change accepts " + a.Rule + ", which does not count before it is merged", Fix: "merge the acceptance in a change of its own first, so that it is reviewed by itself"}
		if !touches {
			f.Severity = transform.Warning
		}
		found = append(found, f)
	}
	return acceptanceAdded.Report(found, nil)
}

// Unread is the finding about a document that could not be read in the base.
func Unread(err error) transform.Finding {
	f := transform.Finding{Message: "in the base: " + err.Error(), Fix: "nothing, if the change corrects it"}
	return baseUnread.Report([]transform.Finding{f}, nil)[0]
}
