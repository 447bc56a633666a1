// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
)

// Setting is a key of a configuration file, its values as on a command line.
type Setting struct {
	Key    string
	Values []string
	Lines  []int // of the values
}

const (
	accept  = "accept"
	exclude = "exclude"
)

// Agreed returns the settings that count for a change: those of the branch's tip. A rule is accepted,
// and a file left out, only if that holds at the commit where the change parted as well: a branch
// from before the end of an acceptance does not bring it in again.
func Agreed(parted, tip []Setting) []Setting {
	var agreed []Setting
	for _, s := range tip {
		if s.Key == accept || s.Key == exclude {
			had := setting(parted, s.Key)
			s.Values = slices.DeleteFunc(slices.Clone(s.Values), func(v string) bool { return !slices.Contains(had.Values, v) })
		}
		agreed = append(agreed, s)
	}
	return agreed
}

// Configuration are the findings about what a change does to a configuration file. They are errors
// where the change touches clusters as well.
func Configuration(file string, before, after []Setting, touches bool, accepted []string) []transform.Finding {
	var accepts, others []transform.Finding
	found := func(to *[]transform.Finding, line int, key, message string) {
		f := transform.Finding{File: file, Line: line, Path: key, Message: message, Fix: "merge it in a change of its own first, so that it is reviewed by itself"}
		if !touches {
			f.Severity = transform.Warning
		}
		*to = append(*to, f)
	}
	for _, s := range after {
		had := setting(before, s.Key)
		if slices.Equal(s.Values, had.Values) {
			continue
		}
		if s.Key != accept {
			found(&others, s.line(), s.Key, "the change sets "+s.Key+", which does not count before it is merged")
			continue
		}
		for i, rule := range s.Values {
			if !slices.Contains(had.Values, rule) {
				found(&accepts, s.Lines[i], accept, "the change accepts "+rule+", which does not count before it is merged")
			}
		}
	}
	for _, s := range before {
		has := setting(after, s.Key)
		gone := func(v string) bool { return !slices.Contains(has.Values, v) }
		if has.Key == "" || s.Key == accept && slices.ContainsFunc(s.Values, gone) {
			found(&others, max(has.line(), 1), s.Key, "the change removes "+s.Key+", or values of it")
		}
	}
	return append(acceptanceAdded.Report(accepts, nil), configurationChanged.Report(others, accepted)...)
}

func setting(list []Setting, key string) Setting {
	if i := slices.IndexFunc(list, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return list[i]
	}
	return Setting{}
}

// line is that of the first value; 0 for none.
func (s Setting) line() int {
	if len(s.Lines) == 0 {
		return 0
	}
	return s.Lines[0]
}

// Unread is the finding about a document that could not be read in the base.
func Unread(err error) transform.Finding {
	f := transform.Finding{Message: "in the base: " + err.Error(), Fix: "nothing, if the change corrects it"}
	return baseUnread.Report([]transform.Finding{f}, nil)[0]
}
