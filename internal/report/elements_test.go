// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const hostile = `</title></style></script><script>alert("1")</script><img src=x onerror=alert(1)>'"{{.}}`

// hostileResults have every part of a page, with markup in all text that a user writes.
func hostileResults(t *testing.T) *Results {
	t.Helper()
	r := &Results{Verb: "plan", Version: "v0", Errors: []Problem{{File: hostile, Message: hostile}}}
	finding := transform.Finding{Rule: "node-rename", Severity: transform.Error, File: hostile, Line: 3, Path: hostile, Message: hostile, Fix: hostile}
	r.Findings = []transform.Finding{finding}
	plan := NewPlan(planned(t, renaming), "", false)
	plan.Name, plan.Source.File = hostile, hostile
	for i := range plan.Stages {
		plan.Stages[i].Findings = append(plan.Stages[i].Findings, finding)
		plan.Stages[i].Diff += "+" + hostile + "\n"
		plan.Stages[i].Actions = append(plan.Stages[i].Actions, action.Action{Why: hostile, Command: hostile})
	}
	one := plan.Subject()
	one.Classes = []Class{{Name: hostile, keys: []string{hostile}, Config: map[string]any{hostile: hostile}, Origins: map[string]Origin{hostile: {File: hostile, Path: hostile}}, Dropped: []Dropped{{Key: hostile, Reason: hostile}}}}
	r.Keep(one)
	reviewed := ReviewedCluster{Name: hostile, Format: "rke2", Moved: hostile, Findings: []transform.Finding{finding}, Stages: []ReviewedStage{{Name: hostile, Why: hostile, Before: []action.Action{{Why: hostile, Command: hostile}}}},
		Classes: []review.Class{{Name: hostile, Kind: "changed", Keys: []review.Key{{Name: hostile, Before: hostile, After: hostile + "2"}}}}, Edits: []ReviewedEdit{{hostile, 1, hostile, "changed"}}}
	r.Keep(reviewed.Subject())
	r.Keep(Verification{Nodes: []check.Node{{Name: hostile, ProviderID: hostile}}, NotChecked: []check.NotChecked{{Rule: hostile, Why: hostile, Needed: true}}, Lease: check.Lease{Holder: hostile, Owner: hostile}}.Subject(hostile))
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Keep(NewOwnership([]check.Interval{
		{From: start, To: start.Add(30 * time.Second), Ownership: check.Ownership{Count: 1, Owners: []string{hostile}}},
		{From: start.Add(30 * time.Second), To: start.Add(40 * time.Second)},
	}, nil, nil).Subject("owners"))
	run := Timeline{Cluster: hostile}
	for i, e := range []migrate.Event{
		{Type: migrate.Began, Message: hostile},
		{Type: migrate.Staged, Stage: stages.SwitchToExternal, Message: hostile, Diff: "@@ -1 +1 @@\n+" + hostile + "\n", Findings: []transform.Finding{finding}},
		{Type: migrate.Awaited, Stage: stages.SwitchToExternal, Message: hostile}, {Type: migrate.Awaited, Stage: stages.SwitchToExternal, Message: hostile},
		{Type: migrate.Watched, Stage: stages.SwitchToExternal, Message: hostile, Owners: &migrate.Owned{None: 17.5, One: 60}},
		{Type: migrate.Stopped, Stage: stages.SwitchToExternal, Message: hostile, End: &migrate.Outcome{Done: []string{hostile}, Leader: hostile, Continue: hostile, Revert: hostile}},
	} {
		e.Time = start.Add(time.Duration(i) * 20 * time.Second)
		run.Add(RunEvent{Event: e})
	}
	r.Keep(run.Subject("failed", errors.New(hostile)))
	return r
}

func pageOf(t *testing.T, r *Results) string {
	t.Helper()
	var b bytes.Buffer
	r.WriteHTML(&b, PlanTable)
	return b.String()
}

// each calls a function for every element of a page.
func each(t *testing.T, page string, do func(e *html.Node)) {
	t.Helper()
	root := assert.Value(html.Parse(strings.NewReader(page)))(t)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			do(n)
		}
	}
}

// What is wrong comes first, and a cluster that does not run does not look like one to do.
func TestAPageShowsErrorsFirstAndBrokenClustersAsSuch(t *testing.T) {
	r := &Results{Verb: "verify"}
	v := Verification{Findings: []transform.Finding{{Rule: "leader-missing", Severity: transform.Error, Message: "no leader"}}, NotChecked: []check.NotChecked{{Rule: "ccm-args-unsafe", Why: "no pod"}}}
	r.Keep(v.Subject("fleet-default/wharf"))
	broken := NewPlan(planned(t, renaming), "", false)
	broken.Status.Version, broken.Status.Situation = "v1.28.15+rke2r1", plan.ProgressBroken("v1.28.15+rke2r1")
	r.Keep(broken.Subject())
	wrong := NewPlan(planned(t, renaming), "", false)
	wrong.Status.Errors, wrong.Status.Summary.Blocked = 1, nil
	r.Keep(wrong.Subject())
	contains(t, pageOf(t, r), `@media print`, `<span class="state error">error</span>`, `<span class="state broken">broken: aws at 1.28</span>`, `<span class="state error">error: to do</span>`, `<h2>fleet-default/wharf`, "no leader", "not checked: ", `<h2>rke2 fleet-default/wharf`, "beforeprint")
}

func TestAPageLoadsNothingAndItsLinksLeadIntoIt(t *testing.T) {
	page := pageOf(t, hostileResults(t))
	ids, links := map[string]bool{}, []string{}
	each(t, page, func(e *html.Node) {
		for _, a := range e.Attr {
			switch a.Key {
			case "id":
				assert.Truef(t, !ids[a.Val] && a.Val != "", "the id %q is not unique", a.Val)
				ids[a.Val] = true
			case "href":
				links = append(links, a.Val)
			case "data-of":
				links = append(links, "#"+a.Val)
			case "src", "srcset", "action", "formaction", "data", "poster", "background", "ping":
				t.Errorf("%s has %s=%q", e.Data, a.Key, a.Val)
			}
			assert.Truef(t, !strings.HasPrefix(a.Key, "on"), "%s has %s", e.Data, a.Key)
		}
		switch e.Data {
		case "link", "base", "iframe", "img", "object", "embed":
			t.Errorf("the page has a %s", e.Data)
		case "style":
			text := e.FirstChild.Data
			assert.Truef(t, !strings.Contains(text, "url(") && !strings.Contains(text, "@import"), "the style loads something:\n%s", text)
		}
	})
	for _, link := range links {
		id, within := strings.CutPrefix(link, "#")
		assert.Truef(t, within && ids[id], "%s leads to nothing", link)
	}
	assert.Truef(t, len(links) >= 12, "links: %v", links)
}

func TestAPageShowsMarkupAsText(t *testing.T) {
	page := pageOf(t, hostileResults(t))
	count := map[string]int{}
	var text strings.Builder
	each(t, page, func(e *html.Node) {
		count[e.Data]++
		assert.True(t, e.Data != "script" || strings.HasPrefix(strings.TrimSpace(e.FirstChild.Data), `"use strict";`), "a script of its own")
		for c := range e.ChildNodes() {
			if c.Type == html.TextNode {
				text.WriteString(c.Data)
			}
		}
	})
	assert.True(t, count["script"] == 1 && count["style"] == 1 && count["title"] == 1 && count["body"] == 1 && count["section"] == 5, count)
	n := strings.Count(text.String(), `<script>alert("1")</script>`)
	assert.Truef(t, n >= 30, "the text is shown %d times", n)
}

func TestAPageHasAllPartsOfItsSubjects(t *testing.T) {
	page := pageOf(t, hostileResults(t))
	assert.ContainsAll(t, page, []string{
		`<option>to do</option>`, `>5 of 5<`, `<span class="hunk">@@ -`, `<span class="added">`, "Effective configuration", "Restarts ", "Before the merge: ", `class="timeline"`, `style="flex: 75 0 0"`, `class="n0"`,
		`<details id="subject-1-grant-migration-lease">`, `<details id="subject-1-switch-to-external" open>`, `<th>Provider ID</th>`, `class="state error">not ok<`,
		`class="state failed">failed<`, `title="before the first stage: 20 s"`, `title="switch-to-external: 80 s"`, "none 17.5 s, one 60 s", "To go back:",
	})
	empty := pageOf(t, &Results{Verb: "lint"})
	assert.True(t, strings.Contains(empty, "clusters: 0") && !strings.Contains(empty, `<form`), empty)
}

// inChromium opens a page, runs a script in it as a user would act, and returns what is left.
func inChromium(t *testing.T, page, script string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	page = strings.Replace(page, "</body>", "<script>"+script+"</script></body>", 1)
	assert.NilError(t, os.WriteFile(file, []byte(page), 0o600))
	out, err := exec.Command(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Skipf("chromium does not start here: %v", err)
	}
	return string(out)
}

func TestTheFilterHidesRowsAndSections(t *testing.T) {
	page := pageOf(t, hostileResults(t))
	for _, c := range []struct {
		name, script string
		shown        []string
	}{
		{"nothing", ``, []string{"subject-1", "subject-2", "subject-3", "subject-4", "subject-5"}},
		{"a text", `var i = document.getElementById("text"); i.value = "owners 30.0"; i.dispatchEvent(new Event("input"));`, []string{"subject-4"}},
		{"a state", `var s = document.getElementById("state"); s.value = "error"; s.dispatchEvent(new Event("change"));`, []string{"subject-2", "subject-3"}},
		{"a row", `document.querySelector("#subjects a").click(); document.title = location.hash;`, []string{"subject-1", "subject-2", "subject-3", "subject-4", "subject-5"}},
		{"markup in a name", `if (document.images.length) { document.getElementById("top").remove(); }`, []string{"subject-1", "subject-2", "subject-3", "subject-4", "subject-5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sections, rows []string
			each(t, inChromium(t, page, c.script), func(e *html.Node) {
				attributes := map[string]string{}
				for _, a := range e.Attr {
					attributes[a.Key] = a.Val
				}
				_, hidden := attributes["hidden"]
				switch {
				case hidden:
				case e.Data == "section":
					sections = append(sections, attributes["id"])
				case attributes["data-of"] != "":
					rows = append(rows, attributes["data-of"])
				case e.Data == "title" && c.name == "a row" && e.FirstChild.Data != "#subject-1":
					t.Errorf("the link leads to %s", e.FirstChild.Data)
				}
			})
			want := strings.Join(c.shown, " ")
			assert.Truef(t, strings.Join(sections, " ") == want && strings.Join(rows, " ") == want, "it shows %v and the rows %v, not %s", sections, rows, want)
		})
	}
}
