// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
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
