// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"maps"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
)

// NotRead is the finding about a file in a form that is not read, as a note or a warning.
func NotRead(f forms.Found, severity transform.Severity, accept []string) []transform.Finding {
	return formNotRead.Report([]transform.Finding{{File: f.File, Line: f.Line, Severity: severity, Message: f.Form.Name + ": it describes a cluster in a form that is not read, so nothing of it is checked", Fix: f.Form.Fix}}, accept)
}

// Forms are the findings about what a change does to files in forms that are not read. A file that
// is renamed is removed and added.
func Forms(before, after []forms.Found, accept []string) (found []transform.Finding) {
	was, is := forms.ByFile(before), forms.ByFile(after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		line, differ, about := forms.Compare(was[name], is[name])
		f := transform.Finding{File: name, Line: line, Severity: transform.Warning, Message: all[name].Form.Name + ": the change edits the description of a cluster in a form that is not read", Fix: all[name].Form.Fix}
		if about {
			f.Severity, f.Message = transform.Error, f.Message+", in a line about the provider, the arguments of a manager or the version"
		}
		if about || differ && was[name].Line+is[name].Line > 0 {
			found = append(found, f)
		}
	}
	return formNotRead.Report(found, accept)
}
