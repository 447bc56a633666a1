// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package report writes plans, findings and configurations for people and for
// programs.
//
// Invariant: it decides nothing and shows no secret: every document passes
// through redact before a byte of it is written.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Output is where a verb shows what it made, and in which format.
type Output struct {
	OutputFormat        string // of -o
	MaxBytes            int    // of Markdown
	Out, Err            io.Writer
	Data                io.Writer // where YAML and documents go, which keep their bytes
	Palette, ErrPalette Palette   // of Out and of Err
}

// OutputFormats are those of the verbs that find something, in addition to their own.
var OutputFormats = []string{"markdown", "sarif", "junit", "github", "html"}

// Reports reports whether the format is one of them.
func (o *Output) Reports() bool { return slices.Contains(OutputFormats, o.OutputFormat) }

// Dump writes a value for programs.
func (o *Output) Dump(v any) error {
	if o.OutputFormat == "yaml" {
		return WriteYAML(o.Data, v)
	}
	_, err := io.WriteString(o.Out, yamledit.IndentedJSON(v))
	return err
}

// Collector computes from the results of a run what is shown last, and the exit code.
type Collector struct {
	*Output
	Results
	Code    int
	ToErr   bool // findings go there as text
	Verbose bool // a line for each outcome

	count    counts              // of findings
	accepted int                 // errors that do not count
	checked  int                 // clusters and files
	kept     []transform.Finding // for programs

	lines, files []Outcome // of clusters, and of files
	continuing   int       // clusters in files whose next stage apply writes
	first        string    // the command of the first cluster that continues
	single       bool      // one of them continues by itself

	Flags    []string // choices of the command line, which the next command repeats
	Server   []string // and the flags of the connection to a live cluster
	Selected []string // and those that select clusters, if several continue together
	Paths    []string // of their files
	Folder   string   // of saved plans; "" for none
}

// NewCollector collects results of a verb that finds something.
func NewCollector(o *Output, r Results) *Collector {
	r.Errors = []Problem{}
	return &Collector{Output: o, Results: r, count: counts{}, kept: []transform.Finding{}}
}

// writeResults writes what was kept, in a format of other programs. The output keeps its errors.
func (c *Collector) writeResults(columns []string) {
	switch c.OutputFormat {
	case "sarif":
		c.WriteSARIF(c.Out)
	case "junit":
		c.WriteJUnit(c.Out)
	case "github":
		c.WriteGitHub(c.Out)
	case "html":
		c.WriteHTML(c.Out, columns)
	default:
		c.WriteMarkdown(c.Out, columns, c.MaxBytes)
	}
}

// Silent only sets the exit code: what there is to say was said.
type Silent struct{ Err error }

// Unwrap returns the error with the code.
func (s Silent) Unwrap() error { return s.Err }

func (s Silent) Error() string { return s.Err.Error() }

// WriteError prints an error, unless it is a silent one.
func WriteError(w io.Writer, err error) {
	if _, is := errors.AsType[Silent](err); err != nil && !is {
		fmt.Fprintln(w, "error:", err)
	}
}

// Fail prints an error. It keeps others from nothing; the highest code wins.
func (c *Collector) Fail(err error) {
	if err == nil {
		return
	}
	WriteError(c.Err, err)
	p := Problem{Message: err.Error()}
	if at, is := errors.AsType[*yamledit.Error](err); is {
		p.File, p.Line = at.File, at.Line
	}
	if r, is := errors.AsType[*transform.Refused](err); is {
		p.Rule = r.Rule
	}
	c.Errors, c.Code = append(c.Errors, p), max(c.Code, transform.ExitCodeOf(err))
}

// counts are how many findings there are, by their severity.
type counts map[transform.Severity]int

func (n counts) String() string {
	return fmt.Sprintf("errors: %d, warnings: %d, notes: %d", n[transform.Error], n[transform.Warning], n[transform.Note])
}

// found counts findings.
func (c *Collector) found(findings []transform.Finding) {
	for _, f := range findings {
		switch {
		case f.Stops() && f.Rule == transform.RuleNotMigratable: // the code is that of every verb
			c.Code = max(c.Code, transform.ExitRefused)
		case f.Stops():
			c.Code = max(c.Code, transform.ExitFound)
		}
		if f.Accepted && f.Severity == transform.Error {
			c.accepted++
		} else {
			c.count[f.Severity]++
		}
	}
}

// Show shows the findings of a subject, or keeps them.
func (c *Collector) Show(s Subject) {
	c.checked++
	c.found(s.Findings)
	switch {
	case c.Reports():
		c.Keep(FindingSubject(s.Title, s.File, s.Line, s.Findings))
	case c.OutputFormat != "text":
		c.kept = append(c.kept, Findings(s.Findings)...)
	case c.ToErr:
		WriteFindings(c.Err, c.ErrPalette, s.Findings, "")
	default:
		WriteFindings(c.Out, c.Palette, s.Findings, "")
	}
}

// Finish shows what was kept, or counts what was shown.
func (c *Collector) Finish() {
	switch {
	case c.Reports():
		c.writeResults(FindingTable)
	case c.OutputFormat != "text":
		c.dump(c.kept)
	case c.checked > 0: // of what was not, the errors are shown
		line := c.count.String()
		if c.accepted > 0 {
			line += fmt.Sprintf(", accepted: %d", c.accepted)
		}
		fmt.Fprintln(c.Err, line)
	}
}

// dump writes a value for programs.
func (c *Collector) dump(v any) { c.Fail(c.Dump(v)) }

// WriteOne writes what was found of one cluster, for programs: all of it, or as a subject.
func (c *Collector) WriteOne(found any, s Subject, columns []string) {
	if c.Reports() {
		c.Keep(s)
		c.writeResults(columns)
	} else {
		c.dump(found)
	}
}

// Outcome is what became of a cluster, after its name: "harbour.yaml: fleet-default/harbour: ",
// "grant-migration-lease written". The zero Outcome is not printed.
type Outcome struct {
	Name, What string
	n          int // how many had it, of whom this is the first
}

func (o Outcome) String() string { return o.Name + o.What }

// Became prints what became of a cluster if each has its own line, and else counts it.
func (c *Collector) Became(o Outcome) {
	if o == (Outcome{}) {
		return
	}
	if c.Verbose {
		fmt.Fprintln(c.Err, o)
	}
	c.lines = counting(c.lines, o)
}

func counting(list []Outcome, o Outcome) []Outcome {
	i := slices.IndexFunc(list, func(same Outcome) bool { return same.What == o.What })
	if i < 0 {
		i, list = len(list), append(list, o)
	}
	list[i].n++
	return list
}

// WriteOutcomes prints one line for clusters, or plans, with the same outcome: the only one of its
// outcome is named. Of several clusters the files are counted as well.
func (c *Collector) WriteOutcomes(of string) {
	number := 0
	for _, l := range c.lines {
		switch number += l.n; {
		case c.Verbose:
		case l.n == 1:
			fmt.Fprintln(c.Err, l)
		default:
			fmt.Fprintf(c.Err, "%d %s: %s\n", l.n, of, l.What)
		}
	}
	for _, l := range c.files {
		if number > 1 {
			fmt.Fprintf(c.Err, "files %s: %d\n", l.What, l.n)
		}
	}
}

// Row adds the state of a cluster, and what to do next: the first cluster that is not blocked continues, or all files
// that were named if apply continues with several. Live clusters, which migrate changes in waves, and a manual stage
// among others are one at a time.
func (c *Collector) Row(s Status) {
	if s.Live != "" {
		s.File = ""
	}
	c.Rows = append(c.Rows, s)
	c.Check = action.Words(append([]string{"rke-lm", "verify"}, c.Reach(s.Live)...)...)
	switch {
	case s.Refused || s.Next == "":
		return
	case len(s.Summary.Blocked) > 0:
		c.Decide = cmp.Or(c.Decide, c.next(s))
		return
	case s.Summary.Manual || s.Live != "":
		c.single = true
	default:
		c.continuing++
	}
	if c.first == "" {
		c.first = c.next(s)
	}
	switch {
	case c.single || c.continuing < 2:
		c.Command = c.first
	case c.continuing == 2: // once, as the paths may be many
		c.Command = c.apply(c.Flags, slices.Concat(c.Selected, lists.Map(c.Paths, typed)))
	}
}

// next is the command that continues with a cluster: it shows the stage where someone has to decide or act first.
func (c *Collector) next(s Status) string {
	if c.Folder == "" && (len(s.Summary.Blocked) > 0 || s.Summary.Manual) {
		return action.Words(slices.Concat([]string{"rke-lm", "plan", "--stage", s.Next}, c.Flags, c.whereOf(s))...)
	}
	return c.Apply(s)
}

// Apply is the command that applies the next stage of a cluster.
func (c *Collector) Apply(s Status, confirmed ...string) string {
	return c.apply(c.changing(s.Live), c.whereOf(s), confirmed...)
}

// changing are the choices that a command takes that changes or checks a cluster: a live one has no values file.
func (c *Collector) changing(live string) []string {
	return slices.DeleteFunc(slices.Clone(c.Flags), func(f string) bool { return live != "" && strings.HasPrefix(f, valuesFlag) })
}

const valuesFlag = "--ccm-values="

// apply is the command that applies the next stage of what words name. A plan folder has the choices.
func (c *Collector) apply(flags, named []string, confirmed ...string) string {
	verb := []string{"rke-lm", "apply", "--next"}
	if c.Folder != "" {
		verb = []string{"rke-lm", "apply", "--plan", c.Folder, "--next"}
		flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return !strings.HasPrefix(f, valuesFlag) })
	}
	return action.Words(slices.Concat(verb, confirmed, flags, named)...)
}

// Reach are the words that name a live cluster on a command line; for that of a file it is not known which it is.
func (c *Collector) Reach(live string) []string {
	if live == "" {
		return []string{"--context", "CONTEXT"}
	}
	return slices.Concat(c.Server, []string{"--cluster", live})
}

// whereOf are the words that name a cluster, or its file.
func (c *Collector) whereOf(s Status) []string {
	if s.Live == "" {
		return []string{typed(s.File)}
	}
	return c.Reach(s.Live)
}

// typed is a path as it is typed.
func typed(path string) string {
	if path == yamledit.Stdin || path == "-" {
		return "-"
	}
	return action.Path(path)
}

// Several reports whether there is something to sum up: documents that were all refused have their errors.
func (c *Collector) Several() bool { return len(c.Rows) > 0 && len(c.Rows)+c.Refused > 1 }

// States are those of clusters as a verb leaves them.
type States struct {
	Of       []Status
	Refused  int // that have none
	Clusters int
	TooMany  bool // to have their states
	Alone    bool // the only cluster has one
	// The command that checks those that were changed, and the name of a live one; "" for none.
	Check, Live string
}

// WriteStates writes the summary of several clusters, or the number of too many.
func (c *Collector) WriteStates(s States) {
	for _, one := range s.Of {
		c.Row(one)
	}
	c.Refused += s.Refused
	switch {
	case s.TooMany:
		fmt.Fprintf(c.Err, "clusters: %d; rke-lm plan --summary shows their states\n", s.Clusters)
	case c.Several():
		c.Summary.Write(c.Err, c.ErrPalette)
	}
}
