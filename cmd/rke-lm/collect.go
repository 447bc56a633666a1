// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// collector computes from the results of a run what is shown last, and the exit code.
type collector struct {
	*options
	code   int
	errors []report.Problem // of all, for programs

	count    map[transform.Severity]int // of findings
	accepted int                        // errors that do not count
	shown    io.Writer                  // where findings go as text
	kept     []transform.Finding        // for programs
	results  *report.Results            // for the formats of other programs

	lines []sameOutcome // of clusters
	files []sameOutcome

	report.Summary
	flags  []string // choices of the command line, which the next command repeats
	folder string   // of saved plans; "" for none
}

func (o *options) collect() *collector {
	return &collector{options: o, errors: []report.Problem{}, count: map[transform.Severity]int{}, shown: o.out, kept: []transform.Finding{}, results: newResults("lint")}
}

// fail prints an error. It keeps others from nothing; the highest code wins.
func (c *collector) fail(err error) {
	if err != nil {
		complain(c.err, err)
		c.errors = append(c.errors, problem(err))
		c.code = max(c.code, exitcode.Of(err))
	}
}

// found counts findings.
func (c *collector) found(findings []transform.Finding) {
	for _, f := range findings {
		switch {
		case f.Stops() && f.Rule == transform.RuleNotMigratable: // the code is that of every verb
			c.code = max(c.code, exitcode.Refused)
		case f.Stops():
			c.code = max(c.code, exitcode.Found)
		}
		if f.Accepted && f.Severity == transform.Error {
			c.accepted++
		} else {
			c.count[f.Severity]++
		}
	}
}

// show shows findings or keeps them, with the lines that the file has after the fixes in front of them.
func (c *collector) show(title, file string, line int, found []transform.Finding, moved int) {
	for i := range found {
		if found[i].File != "" {
			found[i].Line += moved
		}
	}
	c.found(found)
	switch {
	case c.output == "text":
		report.WriteFindings(c.shown, c.palette(c.shown), found, "")
	case c.reports():
		c.results.Keep(report.FindingSubject(title, file, line, found))
	default:
		c.kept = append(c.kept, report.Findings(found)...)
	}
}

// finish shows what was kept, or counts what was shown, and ends with the code of the run.
func (c *collector) finish() error {
	var err error
	switch {
	case c.output == "text":
		c.writeFound()
	case c.reports():
		c.results.Errors = c.errors
		err = c.writeResults(c.results, report.FindingTable)
	default:
		err = c.dump(c.kept)
	}
	return cmp.Or(err, withCode(c.code))
}

// writeFound writes how many findings there are.
func (c *collector) writeFound() {
	fmt.Fprintf(c.err, "errors: %d, warnings: %d, notes: %d", c.count[transform.Error], c.count[transform.Warning], c.count[transform.Note])
	if c.accepted > 0 {
		fmt.Fprintf(c.err, ", accepted: %d", c.accepted)
	}
	fmt.Fprintln(c.err)
}

// sameOutcome is that of clusters, or of files, that had the same one.
type sameOutcome struct {
	run.Outcome // of the first
	n           int
}

// verboseFlag is that of verbs with outcomes.
func (o *options) verboseFlag(f *pflag.FlagSet, with string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, with+"print a line for each cluster, not one for all with the same result")
}

// outcome prints what became of a cluster if each has its own line, and else counts it.
func (c *collector) outcome(l run.Outcome) {
	if l == (run.Outcome{}) {
		return
	}
	if c.verbose {
		fmt.Fprintln(c.err, l)
	}
	c.lines = counting(c.lines, l)
}

func counting(list []sameOutcome, l run.Outcome) []sameOutcome {
	i := slices.IndexFunc(list, func(same sameOutcome) bool { return same.What == l.What })
	if i < 0 {
		return append(list, sameOutcome{l, 1})
	}
	list[i].n++
	return list
}

// writeOutcomes prints one line for clusters, or plans, with the same outcome: the only one of its
// outcome is named. Of several clusters the files are counted as well.
func (c *collector) writeOutcomes(of string) {
	number := 0
	for _, l := range c.lines {
		switch number += l.n; {
		case c.verbose:
		case l.n == 1:
			fmt.Fprintln(c.err, l)
		default:
			fmt.Fprintf(c.err, "%d %s: %s\n", l.n, of, l.What)
		}
	}
	for _, l := range c.files {
		if number > 1 {
			fmt.Fprintf(c.err, "files %s: %d\n", l.What, l.n)
		}
	}
}

// row adds the state of a cluster, and what to do next: the first cluster that is not blocked continues.
func (c *collector) row(s report.Status, live *clusters.Live, refused bool) {
	if live != nil {
		s.File = ""
	}
	c.Rows = append(c.Rows, s)
	switch {
	case refused || s.Next == "" || s.File == yamledit.Stdin:
	case len(s.Outlook.Blocked) > 0:
		c.Decide = cmp.Or(c.Decide, c.next(s, live))
	default:
		c.Command = cmp.Or(c.Command, c.next(s, live))
	}
}

// next is the command that continues with a cluster: it shows the stage where someone has to decide or act first.
func (c *collector) next(s report.Status, live *clusters.Live) string {
	if c.folder == "" && (len(s.Outlook.Blocked) > 0 || s.Outlook.Manual) {
		return shell.Words(slices.Concat([]string{"rke-lm", "plan", "--stage", s.Next}, c.flags, whereOf(s, live))...)
	}
	return c.apply(s, live)
}

// apply is the command that applies the next stage of a cluster. A plan folder has the choices.
func (c *collector) apply(s report.Status, live *clusters.Live, confirmed ...string) string {
	verb, flags := []string{"rke-lm", "apply", "--next"}, c.flags
	if c.folder != "" {
		verb = []string{"rke-lm", "apply", "--plan", c.folder, "--next"}
		flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return !strings.HasPrefix(f, "--ccm-values=") })
	}
	return shell.Words(slices.Concat(verb, confirmed, flags, whereOf(s, live))...)
}

// whereOf are the words that name a cluster on a command line.
func whereOf(s report.Status, live *clusters.Live) []string {
	if live != nil {
		return []string{"--cluster", live.Name()}
	}
	return []string{shell.Path(s.File)}
}

// several reports whether there is something to sum up: documents that were all refused have their errors.
func (c *collector) several() bool { return len(c.Rows) > 0 && len(c.Rows)+c.Refused > 1 }

// worked is a cluster as a verb leaves it, or an error in the place of one, or both.
type worked struct {
	clusters.Cluster
	target transform.Target
	after  []*yamledit.Document // nil for no cluster
	err    error
}

// mostSummed bounds the clusters of which a verb that changes or checks them works out the state:
// that costs as much as the change.
const mostSummed = 100

// writeStates writes the summary of several clusters. What has no plan is refused.
func (c *collector) writeStates(w io.Writer, all []worked) error {
	looked := 0
	for _, one := range all {
		if one.after != nil {
			looked++
		}
	}
	switch {
	case looked > mostSummed:
		_, err := fmt.Fprintf(w, "clusters: %d; rke-lm plan --summary shows their states\n", looked)
		return err
	case len(all) < 2:
		return nil
	}
	for _, one := range all {
		if (one.after == nil || !c.state(one)) && one.err != nil {
			c.Refused++
		}
	}
	if c.several() {
		c.Summary.Write(w, c.palette(w))
	}
	return nil
}

// state adds the row of a cluster; false where its documents have no plan, which the verb reports.
func (c *collector) state(w worked) bool {
	var p *transform.Plan
	err := transform.Guard(w.Place(), func() (err error) {
		p, err = transform.BuildFor(w.Distro, w.after, w.target, transform.Choice{Next: true})
		return err
	})
	if err != nil {
		return false
	}
	s := report.NewStatus(p)
	s.Count(w.Objections(w.target))
	c.row(s, w.Live, w.Refusal(w.target) != nil)
	return true
}

// repeatedChoices are the migration options on the command line, as another command takes
// them. Those of a configuration file apply by themselves.
func (o *options) repeatedChoices(flags *pflag.FlagSet) []string {
	var all options
	choice := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.targetFlags(choice)
	all.inputFlags(choice)
	all.valuesFlag(choice, "")
	var words []string
	choice.VisitAll(func(f *pflag.Flag) {
		if given := flags.Lookup(f.Name); given != nil && given.Changed && !o.configured[f.Name] {
			words = append(words, flagWords(given)...)
		}
	})
	return words
}
