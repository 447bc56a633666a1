// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// WriteGitHub writes findings as workflow commands to an EscapingWriter, from which GitHub makes annotations
// of the lines of a pull request.
func (r *Results) WriteGitHub(w io.Writer) {
	refused := lists.Map(r.Errors, func(e Problem) transform.Finding {
		return transform.Finding{Rule: cmp.Or(e.Rule, "rke-lm "+r.Verb), Severity: transform.Error, File: e.File, Line: e.Line, Message: e.Message}
	})
	for _, f := range append(r.All(), refused...) {
		place := ""
		if f.File != "" {
			place = "file=" + property.Replace(filepath.ToSlash(f.File)) + ","
			if f.Line > 0 {
				place += fmt.Sprintf("line=%d,", f.Line)
			}
		}
		fmt.Fprintf(w, "%s::%s %stitle=%s::%s\n", mark, command(f), place, property.Replace(f.Rule+acceptedMark(f)), data.Replace(explained(f)))
	}
}

// command is what GitHub calls the severity. What is accepted does not fail a check.
func command(f transform.Finding) string {
	switch {
	case f.Stops():
		return "error"
	case f.Severity == transform.Note, f.Accepted:
		return "notice"
	}
	return "warning"
}

// How workflow commands escape text (actions/toolkit, packages/core/src/command.ts).
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// The elements of JUnit's XML that CI systems read.
type (
	junitSuite struct { // or testsuites, which counts the same of its suites
		XMLName  xml.Name
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
		Cases    []junitCase  `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		File    string     `xml:"file,attr,omitempty"`
		Line    int        `xml:"line,attr,omitempty"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes findings as tests: a suite for each subject, and a test for each
// finding. Errors that count fail; other findings pass with their text as output.
func (r *Results) WriteJUnit(w io.Writer) {
	all := junitSuite{XMLName: xml.Name{Local: "testsuites"}, Name: "rke-lm " + r.Verb}
	for _, s := range r.Subjects {
		all.add(suite(all.Name, s))
	}
	if len(r.Findings) > 0 {
		all.add(suite(all.Name, Subject{Title: r.Verb, Findings: r.Findings}))
	}
	for _, e := range r.Errors {
		all.add(junitSuite{Name: cmp.Or(e.File, "input"), Tests: 1, Errors: 1, Cases: []junitCase{{
			Class: all.Name, Name: "read", File: e.File, Line: e.Line, Error: &junitText{cmp.Or(e.Rule, "error"), e.Message, e.Message},
		}}})
	}
	io.WriteString(w, xml.Header)
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	enc.Encode(all)
	io.WriteString(w, "\n")
}

func (all *junitSuite) add(s junitSuite) {
	all.Suites = append(all.Suites, s)
	all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
}

func suite(class string, s Subject) junitSuite {
	out := junitSuite{Name: s.Title}
	for _, f := range s.Findings {
		c := junitCase{Class: class, Name: strings.TrimSpace(f.Rule + " " + f.Path), File: f.File, Line: f.Line} // a rule may find several
		text := fmt.Sprintf("%s: %s", where(f), explained(f))
		if f.Stops() {
			c.Failure = &junitText{f.Rule, f.Message, text}
			out.Failures++
		} else {
			c.Out = fmt.Sprintf("%s%s %s", f.Severity, acceptedMark(f), text)
		}
		out.Cases = append(out.Cases, c)
	}
	if len(s.Findings) == 0 {
		out.Cases = []junitCase{{Class: class, Name: "no findings", File: s.File, Line: s.Line}}
	}
	out.Tests = len(out.Cases)
	return out
}

func acceptedMark(f transform.Finding) string {
	if f.Accepted {
		return ", accepted"
	}
	return ""
}

// object is one of SARIF 2.1.0 (OASIS, sarif-v2.1.0-errata01). A test checks the whole against its schema.
type object map[string]any

const (
	homePage  = "https://github.com/rke-lm/rke-lm"
	rulesPage = homePage + "/blob/main/docs/rules.md"
)

// WriteSARIF writes findings for code scanning.
func (r *Results) WriteSARIF(w io.Writer) {
	rules, results, index := []object{}, []object{}, map[string]int{}
	for _, f := range r.All() {
		at, known := index[f.Rule]
		if !known {
			at = len(rules)
			index[f.Rule], rules = at, append(rules, r.sarifRule(f.Rule))
		}
		results = append(results, sarifResult(f, at))
	}
	driver := object{"name": "rke-lm", "informationUri": homePage, "rules": rules}
	if r.Version != "" {
		driver["version"] = r.Version
	}
	invocation := object{"executionSuccessful": len(r.Errors) == 0}
	if len(r.Errors) > 0 { // documents that were refused
		invocation["toolExecutionNotifications"] = lists.Map(r.Errors, func(e Problem) object {
			return located(object{"level": "error", "message": sarifText(e.Message)}, e.File, e.Line, "")
		})
	}
	run := object{"tool": object{"driver": driver}, "columnKind": "utf16CodeUnits", "invocations": []object{invocation}, "results": results}
	io.WriteString(w, yamledit.IndentedJSON(object{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0", "runs": []object{run},
	}))
}

func sarifText(text string) object { return object{"text": text} }

// sarifRule is what is known of a rule; only its name for one that no table has.
func (r *Results) sarifRule(id string) object {
	rule, _ := lists.Find(r.Rules, func(rule transform.Rule) bool { return rule.ID == id })
	out := object{"id": id, "helpUri": rulesPage}
	if former := transform.FormerName(id); former != "" {
		out["deprecatedIds"] = []string{former}
	}
	if rule.Doc != "" {
		out["shortDescription"] = sarifText(rule.Doc)
	}
	if rule.Severity != "" {
		out["defaultConfiguration"] = object{"level": rule.Severity}
	}
	return out
}

func sarifResult(f transform.Finding, rule int) object {
	out := object{
		"ruleId": f.Rule, "ruleIndex": rule, "level": f.Severity, "message": sarifText(explained(f)),
		"partialFingerprints": object{"rkeLmFinding/v1": fingerprint(f)},
	}
	if f.Accepted {
		out["suppressions"] = []object{{"kind": "external"}}
	}
	return located(out, f.File, f.Line, f.Path)
}

// located adds the place in a file, or of a cluster, if there is one.
func located(of object, file string, line int, path string) object {
	at := object{}
	if file != "" {
		physical := object{"artifactLocation": object{"uri": reference(file)}}
		if line > 0 {
			physical["region"] = object{"startLine": line}
		}
		at["physicalLocation"] = physical
	}
	if path != "" {
		at["logicalLocations"] = []object{{"fullyQualifiedName": path}}
	}
	if len(at) > 0 {
		of["locations"] = []object{at}
	}
	return of
}

// reference is a path as a URI reference: relative to the folder in which rke-lm runs, if
// the path is.
func reference(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// fingerprint is the same as long as the finding is, whatever lines come before it.
func fingerprint(f transform.Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, f.File, f.Path, f.Message}, "\x00")))
	return fmt.Sprintf("%x", sum[:16])
}

// WriteYAML writes a value for programs, with the fields of its JSON.
func WriteYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A reader of YAML refuses control characters, some of which JSON leaves as they are.
	b, err := yaml.JSONToYAML(EscapeText(text))
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// longText is a line of JSON with a string of several lines.
var longText = regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*": )?("(?:[^"\\]|\\.)*\\n(?:[^"\\]|\\.)*"),?$`)

// unfolded shows strings of several lines line by line, so that a diff shows what
// changes in a manifest and not the whole of it. The result is for people alone; from has
// for each of its lines the one that it was before, from 1 on.
func unfolded(text string) (out string, from []int) {
	var b strings.Builder
	at := 0
	for line := range strings.Lines(text) {
		at++
		m := longText.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		var value string
		if m == nil || json.Unmarshal([]byte(m[3]), &value) != nil {
			b.WriteString(line)
			from = append(from, at)
			continue
		}
		parts := strings.Split(value, "\n") // one more than without a last break
		b.WriteString(m[1] + m[2] + "|\n")
		for _, part := range parts {
			b.WriteString(m[1] + "  " + part + "\n")
		}
		from = append(from, slices.Repeat([]int{at}, 1+len(parts))...)
	}
	return b.String(), from
}

// DefaultMaxBytes is the length of Markdown that GitHub and GitLab take as a comment, with
// some room for a greeting.
const DefaultMaxBytes = 60_000

// leastBytes leaves room for the lines that say what is missing.
const leastBytes = 1_000

// WriteMarkdown writes a summary with these columns, and the details of each subject folded below it, in at
// most so many bytes: subjects with errors come first, and the last details are left out.
func (r *Results) WriteMarkdown(w io.Writer, columns []string, maxBytes int) {
	limit := max(maxBytes, leastBytes)
	b := &limitedBuffer{limit: limit - 300} // for what is said of the missing parts
	fmt.Fprintf(&b.text, "## rke-lm %s\n\n%s\n\n", r.Verb, r.totals())
	if r.Read != "" {
		fmt.Fprintf(&b.text, "%s\n\n", inline(r.Read))
	}
	r.table(b, columns)
	for _, e := range r.Errors {
		b.add(fmt.Sprintf("- **error** %s\n", inline(e.Message)))
	}
	for _, f := range r.Findings {
		b.add(findingLine(f))
	}
	b.add("\n")
	hidden := 0
	for _, worst := range []bool{true, false} {
		for _, s := range r.Subjects {
			if s.stops() == worst && s.Details != "" && !b.add(r.fold(s)) {
				hidden++
			}
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b.text, "_The details of %d of %d are left out: with them the text is longer than %d bytes. See the output of `rke-lm %s`, or use `--max-bytes`._\n", hidden, len(r.Subjects), limit, r.Verb)
	}
	io.WriteString(w, b.text.String())
}

// table writes a row for each subject, as long as there is room.
func (r *Results) table(b *limitedBuffer, columns []string) {
	if len(r.Subjects) == 0 {
		return
	}
	b.add("| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|\n")
	room := b.limit * 2 / 3 // the rest is for details
	missing := 0
	for _, s := range r.Subjects {
		row := "| " + strings.Join(lists.Map(s.Cells, inline), " | ") + " |\n"
		if b.text.Len()+len(row) > room {
			missing++
			continue
		}
		b.add(row)
	}
	b.add("\n")
	if missing > 0 {
		b.add(fmt.Sprintf("_%d more rows are left out._\n\n", missing))
	}
}

// totals counts what was found, as lint does.
func (r *Results) totals() string {
	own := lists.Flat(r.Subjects, func(s Subject) []transform.Finding { return s.Findings[:len(s.Findings)-s.ofStages] })
	count := counts{}
	for _, f := range append(own, r.Findings...) {
		if f.Severity != transform.Error || f.Stops() {
			count[f.Severity]++
		}
	}
	text := fmt.Sprintf("clusters: %d, %s", len(r.Subjects), count)
	if len(r.Errors) > 0 {
		text += fmt.Sprintf(", refused: %d", len(r.Errors))
	}
	return text
}

func (r *Results) fold(s Subject) string {
	if len(r.Subjects) == 1 && len(r.Findings)+len(r.Errors) == 0 { // all that there is to show
		return s.Details
	}
	return fmt.Sprintf("<details><summary>%s</summary>\n\n%s\n</details>\n\n", inline(s.Title), strings.TrimSuffix(s.Details, "\n"))
}

// limitedBuffer is a text that does not grow beyond its limit.
type limitedBuffer struct {
	text  strings.Builder
	limit int
}

// add reports whether there was room.
func (b *limitedBuffer) add(text string) bool {
	if b.text.Len()+len(text) > b.limit {
		return false
	}
	b.text.WriteString(text)
	return true
}
