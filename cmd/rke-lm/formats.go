// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/live/verify"
)

// reportFormats are those of the verbs that find something, in addition to their own.
var reportFormats = []string{"markdown", "sarif", "junit", "github", "html"}

// everyFormat are those with the usual ones.
var everyFormat = slices.Concat([]string{"text", "json", "yaml"}, reportFormats)

// reports reports whether the output is one of them.
func (o *options) reports() bool { return slices.Contains(reportFormats, o.output) }

// newResults is the list of what a verb finds, with the rules of all tables; of one that several distros have that of
// the first.
func newResults(verb string) *report.Results {
	return &report.Results{Verb: verb, Version: currentBuild().Version, Rules: slices.Concat(run.StaticRules(distros()), verify.Rules())}
}

// writeResults writes what was found in the format of the flag.
func (o *options) writeResults(r *report.Results, t report.Table) error {
	switch o.output {
	case "sarif":
		return r.WriteSARIF(o.out)
	case "junit":
		return r.WriteJUnit(o.out)
	case "github":
		return r.WriteGitHub(o.out)
	case "html":
		return r.WriteHTML(o.out, t)
	}
	return r.WriteMarkdown(o.out, t, o.maxBytes)
}
