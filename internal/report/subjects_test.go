// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// found are results with all that a format has to cope with.
func found() *Results {
	r := &Results{Verb: "lint", Version: "v0.1.0", Rules: []transform.Rule{{ID: "node-rename", Severity: transform.Error, Doc: "Nodes get other names."}}}
	r.Keep(FindingSubject("rke2 fleet-default/harbour", "clusters/a b.yaml", 3, []transform.Finding{
		{Rule: "node-rename", Severity: transform.Error, File: "clusters/a b.yaml", Line: 5, Path: "spec.rkeConfig", Message: "100% <renamed>,\nor: not", Fix: "choose \"one\""},
		{Rule: "node-rename", Severity: transform.Error, File: "clusters/a b.yaml", Line: 6, Message: "known", Accepted: true},
		{Rule: "unknown-rule", Severity: transform.Note, File: "/abs/ü.yaml", Line: 1, Message: "\x1b[31mred"},
		{Rule: "live", Severity: transform.Warning, Path: "Node ip-10-0-0-1", Message: "no file"},
	}))
	r.Keep(FindingSubject("rke1 depot", "depot.yml", 1, nil))
	r.Findings = []transform.Finding{{Rule: "whole", Severity: transform.Warning, Message: "about no cluster"}}
	r.Errors = []Problem{{File: "broken.yaml", Line: 2, Rule: "templated", Message: "a template"}, {Message: "no file"}}
	return r
}

func TestSARIFHasPlacesRulesAndWhatIsAccepted(t *testing.T) {
	var b bytes.Buffer
	found().WriteSARIF(&b)
	var log sarif.Report
	assert.NilError(t, json.Unmarshal(b.Bytes(), &log))
	run := log.Runs[0]
	first := run.Results[0]
	physical := func(i int) *sarif.PhysicalLocation { return run.Results[i].Locations[0].PhysicalLocation }
	assert.True(t, *first.RuleID == *run.Tool.Driver.Rules[first.RuleIndex].ID && first.Level == "error" && *physical(0).ArtifactLocation.URI == "clusters/a%20b.yaml" && *physical(0).Region.StartLine == 5, first)
	assert.True(t, run.Results[1].Suppressions != nil && first.Suppressions == nil, "what is accepted is suppressed, and nothing else")
	assert.Equal(t, *physical(2).ArtifactLocation.URI, "file:///abs/%C3%BC.yaml")
	assert.True(t, physical(3) == nil && !*run.Invocations[0].ExecutionSuccessful && len(run.Invocations[0].ToolExecutionNotifications) == 2, run)
}

func TestAFingerprintDoesNotDependOnTheLine(t *testing.T) {
	f := transform.Finding{Rule: "a", File: "b", Line: 3, Message: "c"}
	moved, other := f, f
	moved.Line, other.Message = 9, "d"
	assert.True(t, fingerprint(f) == fingerprint(moved) && fingerprint(f) != fingerprint(other), "wrong fingerprint")
}

func TestJUnitCountsWhatItHas(t *testing.T) {
	var b bytes.Buffer
	found().WriteJUnit(&b)
	var all junitSuite
	dec := xml.NewDecoder(&b)
	assert.NilError(t, dec.Decode(&all))
	tests, failures, errs := 0, 0, 0
	for _, s := range all.Suites {
		assert.True(t, s.Name != "" && s.Tests == len(s.Cases), s)
		for _, c := range s.Cases {
			tests++
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errs++
			}
			assert.True(t, c.Name != "" && c.Class != "", c)
		}
	}
	assert.Truef(t, tests == all.Tests && failures == all.Failures && errs == all.Errors && failures == 1 && errs == 2 && tests == 8, "%d tests, %d failures, %d errors in %+v", tests, failures, errs, all)
}

func TestAnnotationsAreOneLineEach(t *testing.T) {
	var b bytes.Buffer
	out := NewEscapingWriter(&b)
	found().WriteGitHub(out)
	assert.NilError(t, out.Flush())
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	want := []string{
		"::error file=clusters/a b.yaml,line=5,title=node-rename::100%25 <renamed>,%0Aor: not → choose \"one\"",
		"::notice file=clusters/a b.yaml,line=6,title=node-rename%2C accepted::known",
		"::notice file=/abs/ü.yaml,line=1,title=unknown-rule::\\u001b[31mred",
		"::warning title=live::no file",
		"::warning title=whole::about no cluster",
		"::error file=broken.yaml,line=2,title=templated::a template",
		"::error title=rke-lm lint::no file",
	}
	assert.True(t, reflect.DeepEqual(lines, want), lines)
}

func TestMarkdownIsBounded(t *testing.T) {
	r := &Results{Verb: "plan"}
	for i := range 500 {
		s := FindingSubject(fmt.Sprintf("rke2 fleet-default/c-%03d", i), "c.yaml", 1, []transform.Finding{{Rule: "a", Severity: transform.Warning, File: "c.yaml", Line: i, Message: strings.Repeat("long ", 50)}})
		if i == 499 {
			s = FindingSubject("rke2 fleet-default/worst", "c.yaml", 1, []transform.Finding{{Rule: "b", Severity: transform.Error, File: "c.yaml", Line: i, Message: "stops"}})
		}
		r.Keep(s)
	}
	for _, limit := range []int{0, 5_000, DefaultMaxBytes, 1 << 20} {
		var b bytes.Buffer
		r.WriteMarkdown(&b, FindingTable, limit)
		text := b.String()
		assert.Truef(t, len(text) <= max(limit, leastBytes), "%d bytes, more than %d", len(text), limit)
		assert.Equal(t, strings.Count(text, "<details>"), strings.Count(text, "</details>"), "details are opened and closed")
		whole := limit == 1<<20
		assert.Truef(t, whole != strings.Contains(text, "are left out"), "limit %d: what is missing is not told:\n%s", limit, text[:300])
		assert.Truef(t, limit < 5_000 || strings.Contains(text, "fleet-default/worst</summary>"), "limit %d: the details with an error are missing", limit)
	}
}
