// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Setting is a key of a configuration file, its values as on a command line.
type Setting struct {
	Key    string
	Values []string
	Lines  []int // of the values
}

const accept, exclude = "accept", "exclude"

// Agreed returns the settings that count for a change: those of the branch's tip. A rule is accepted,
// and a file left out, only if that holds at the commit where the change parted as well: a branch
// from before the end of an acceptance does not bring it in again.
func Agreed(parted, tip []Setting) []Setting {
	agreed := slices.Clone(tip)
	for i, s := range tip {
		if s.Key == accept || s.Key == exclude {
			agreed[i].Values = without(s.Values, without(s.Values, setting(parted, s.Key).Values))
		}
	}
	return agreed
}

// Configuration are the findings about what a change does to a configuration file. They are errors
// where the change touches clusters as well.
func Configuration(file string, before, after []Setting, touches bool, accepted []string) []transform.Finding {
	var accepts, others []transform.Finding
	finding := func(line int, key, message string) transform.Finding {
		f := transform.Finding{File: file, Line: line, Path: key, Message: message, Fix: "merge it in a separate pull request first, so that it is reviewed by itself"}
		if !touches {
			f.Severity = transform.Warning
		}
		return f
	}
	seen := map[string]bool{}
	for _, s := range slices.Concat(after, before) {
		was, is := setting(before, s.Key), setting(after, s.Key)
		if seen[s.Key] || was.Key == is.Key && slices.Equal(was.Values, is.Values) {
			continue
		}
		seen[s.Key] = true
		if s.Key == accept {
			for _, rule := range without(is.Values, was.Values) {
				accepts = append(accepts, finding(is.Lines[slices.Index(is.Values, rule)], accept, "the change accepts "+rule+", which does not count before it is merged"))
			}
		}
		if s.Key != accept || len(without(was.Values, is.Values)) > 0 {
			others = append(others, finding(append(is.Lines, 1)[0], s.Key, "the change sets or removes "+s.Key+"; before it is merged, the value of the target branch counts"))
		}
	}
	return append(acceptanceAdded.Report(accepts, nil), configurationChanged.Report(others, accepted)...)
}

// without returns the values that are not among others.
func without(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

func setting(list []Setting, key string) Setting {
	s, _ := lists.Find(list, func(s Setting) bool { return s.Key == key })
	return s
}

// Unread is the finding about a document that could not be read in the base.
func Unread(err error) transform.Finding {
	f := transform.Finding{Message: "in the base: " + err.Error(), Fix: "nothing, if the change corrects it"}
	if at, is := errors.AsType[*yamledit.Error](err); is {
		f.File, f.Line, f.Message = at.File, at.Line, strings.TrimSuffix("in the base: "+at.What+"; "+at.Do, "; ")
	}
	return baseUnread.Report([]transform.Finding{f}, nil)[0]
}

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

// NotRead is the finding about a file in a form that is not read, as a note or a warning.
func NotRead(f forms.Found, severity transform.Severity, accept []string) []transform.Finding {
	return formNotRead.Report([]transform.Finding{{File: f.File, Line: f.Line, Severity: severity, Message: f.Form.Name + ": it describes a cluster in a form that is not read, so nothing of it is checked", Fix: f.Form.Fix}}, accept)
}

// Forms are the findings about what a change does to files in forms that are not read. A file that
// is renamed is removed and added.
func Forms(before, after []forms.Found, accept []string) (found []transform.Finding) {
	was, is := forms.ByFile(before), forms.ByFile(after)
	for _, name := range lists.Keys(was, is) {
		form := cmp.Or(is[name].Form, was[name].Form)
		line, differ, about := forms.Compare(was[name], is[name])
		f := transform.Finding{File: name, Line: line, Severity: transform.Warning, Message: form.Name + ": the change edits the description of a cluster in a form that is not read", Fix: form.Fix}
		if about {
			f.Severity, f.Message = transform.Error, f.Message+", in a line about the provider, the arguments of a manager or the version"
		}
		if about || differ && was[name].Line+is[name].Line > 0 {
			found = append(found, f)
		}
	}
	return formNotRead.Report(found, accept)
}

// Link is a symbolic link or a submodule that belongs to a change.
type Link struct {
	File, Kind string
	Edited     string // what it leads to, if the change edits that and not the link
}

// Links are the findings about links: what they lead to is not reviewed.
func Links(links []Link, accepted []string) (found []transform.Finding) {
	for _, l := range links {
		f := transform.Finding{File: l.File, Message: "the change adds, moves or removes a " + l.Kind + ", and what it leads to is not reviewed", Fix: "use files of this repository in its place"}
		if l.Edited != "" {
			f.Message, f.Fix = "a "+l.Kind+" leads to "+l.Edited+", which the change edits, and which is not reviewed by its own name", "add that PATH to the command, or replace the link by the file"
		}
		found = append(found, f)
	}
	return contentUnknown.Report(found, accepted)
}
