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

var acceptanceAdded = transform.Rule{ID: "acceptance-added", Severity: transform.Error,
	Doc: "The change accepts a rule in .rke-lm.yaml, and changes clusters as well. The acceptance does not count until it is merged; merge it first. It is a warning in a separate pull request."}.Because(
	"A change that accepts its own errors needs no review any more.", "docs/review.md", "Merge the acceptance in a separate pull request, which someone approves.", "")

var configurationChanged = transform.Rule{ID: "configuration-changed", Severity: transform.Error,
	Doc: "The change sets or removes a key of a .rke-lm.yaml, and changes clusters as well. Before it is merged the target branch's value counts. It is a warning in a separate pull request."}.Because(
	"A key such as chart-repo, distro or exclude changes what the next run does or reads, in files that the change does not show.", "docs/review.md", "Merge it in a separate pull request, which someone approves.", "The key belongs to the stage, such as end-state in the change that begins a migration.")

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

var baseUnread = transform.Rule{ID: "base-unread", Severity: transform.Warning,
	Doc: "A document cannot be read as it is in the base: its clusters count as new."}.Because(
	"What cannot be read cannot be compared, so that nothing is checked for the clusters of that document.", "the document in the base", "Correct the document in the base first.", "")

// Unread is the finding about a document that could not be read in the base.
func Unread(err error) transform.Finding {
	f := transform.Finding{Message: "in the base: " + err.Error(), Fix: "nothing, if the change corrects it"}
	if at, is := errors.AsType[*yamledit.Error](err); is {
		f.File, f.Line, f.Message = at.File, at.Line, strings.TrimSuffix("in the base: "+at.What+"; "+at.Do, "; ")
	}
	return baseUnread.Report([]transform.Finding{f}, nil)[0]
}

var listedFile = transform.Rule{ID: "saved-plan-differs", Severity: transform.Error,
	Doc: "A plan.json that the change adds or edits lists a file that is none of a plan of a cluster in the reviewed paths: the file differs from what `plan --out` writes with the choices in that plan.json, or the cluster is described nowhere else. Files that a plan.json lists are read as no clusters."}.Because(
	"Files that a plan.json lists are read as no clusters, so a plan.json could hide a cluster from every verb.", "the plan folder in the change", "Plan the cluster again with `plan --out`, or remove the folder from the change.", "")

// Listed is the finding about a file that a plan.json lists, and that no plan of its cluster has.
func Listed(file string, of transform.Identity) []transform.Finding {
	f := transform.Finding{File: file, Line: 1, Message: "plan.json lists it as a file of the plan of " + of.Title() + ", and it is not: once this is merged, no verb reads it as a cluster", Fix: "plan that cluster again with --out, or remove the folder of the plan from the change"}
	return listedFile.Report([]transform.Finding{f}, nil)
}

var excludedChange = transform.Rule{ID: "excluded-change", Severity: transform.Error,
	Doc: "A pattern of `exclude` leaves out files that the change touches. An error if clusters in them change and the pattern is that of `--exclude`, which a workflow in the change can set. A warning if it is that of the configuration, which counts in the base. A note if no cluster changes."}.Because(
	"A file that is left out is not reviewed, whatever the change does to it.", "docs/review.md", "Remove the pattern, or set it in the configuration of the base.", "If the files were reviewed in another way.")

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

var formNotRead = transform.Rule{ID: "form-not-read", Severity: transform.Warning,
	Doc: "A file describes a cluster in a form that is not read: Terraform, a configuration file of RKE2, CAPRKE2, a Bundle of Fleet, a Kustomization of Flux, Ansible, templates, scripts, dumps of live clusters. A note in `plan`. In `review` an error if the change renames or removes the file, or touches a line about the provider, manager arguments or the version."}.Because(
	"Nothing of the file is checked: a change of it can take away the provider.", "the file", "Make the change as a stage of the cluster that is made of the file, and plan that.", "If the change was checked in another way.")

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

var contentUnknown = transform.Rule{ID: "content-unknown", Severity: transform.Error,
	Doc: "The change adds, moves or removes a symbolic link or a submodule, or replaces a file by one. What it leads to is not reviewed. Or a link leads to a file that the change edits outside of the reviewed paths."}.Because(
	"kubectl and Fleet follow links, and a submodule has commits of another repository: clusters can change without a line of them in the change.", "docs/review.md", "Replace the link or the submodule by the files.", "If what it leads to was reviewed in another way.")

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
