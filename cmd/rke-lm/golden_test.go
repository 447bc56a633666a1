// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

var update = flag.Bool("update", false, "rewrite what the golden cases expect")

// ran is what one command line did.
type ran struct {
	stdout, stderr string
	code           int
}

// runHere runs a command line as a user would, without a terminal.
func runHere(t testing.TB, stdin string, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	code := execute(context.Background(), args, streams{in: strings.NewReader(stdin), out: &out, err: &err, network: memnet.Dial})
	return ran{out.String(), err.String(), code}
}

// decoded is a value from JSON.
func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &v)
	assert.Mustf(t, err == nil, "%v\n%s", err, text)
	return v
}

// shows requires an exit code, and that some texts are printed, and others, which begin with !, are not.
func (r ran) shows(t testing.TB, of string, code int, want ...string) ran {
	t.Helper()
	assert.Truef(t, r.code == code, "%s: exit %d\n%s%s", of, r.code, r.stdout, r.stderr)
	for _, part := range want {
		text, never := strings.CutPrefix(part, "!")
		assert.Truef(t, strings.Contains(r.stdout+r.stderr, text) != never, "%s: %q in\n%s%s", of, part, r.stdout, r.stderr)
	}
	return r
}

// shows runs a command line, whose words may be in single quotes, and requires its code and texts.
func shows(t testing.TB, code int, line string, want ...string) ran {
	t.Helper()
	return runHere(t, "", wordsOf(strings.Join(strings.Fields(line), " "))...).shows(t, line, code, want...)
}

// TestGolden runs the verbs on every case of testdata/golden. Cases rule-ID and
// rule-ID-not show one rule; in those of live clusters the input is a dump. golden_rules_test.go has those of changes and of
// the objects of a Rancher.
func TestGolden(t *testing.T) {
	sweep(t)
	var ran []golden.Case
	message := stageTexts{}
	cases := golden.Inputs(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Chdir(c.LayOut(t))
			got := c.With(outputsOf(t, c, message))
			if ran = append(ran, got); !*update {
				compare(t, c.Outputs(), got.Outputs())
			}
		})
	}
	if *update {
		golden.Write(t, ran)
	}
	if len(ran) == len(cases) {
		message.compare(t)
		message.areNotIn(t, ran)
	}
}

// inputOf lays a golden case out and returns its input.
func inputOf(t *testing.T, name string) string {
	t.Helper()
	c := golden.Input(t, name)
	return filepath.Join(c.LayOut(t), c.Input())
}

// screens are what verbs print, whole: those that a case has a member for. The reasons of stages are in those of one
// archive only, screens.txtar, whose cases have nothing else.
var screens = map[string]string{
	"screen.txt": "plan", "all.txt": "plan --all", "plan.json": "plan -o json", "lint.json": "lint -o json", "verify.json": "verify -o json",
}

// outputsOf returns what the verbs print of a case, by the names of the files.
func outputsOf(t *testing.T, c golden.Case, message stageTexts) map[string]string {
	files, input := map[string]string{}, []string{c.Input()}
	if isLive(c) {
		input = []string{"--from", c.Input()}
	}
	run := func(args ...string) ran { return runHere(t, "", slices.Concat(args, c.Flags(), input)...) }
	keep := func(file string, r ran) { files[file] = fmt.Sprintf("%s%s[exit %d]\n", r.stdout, r.stderr, r.code) }
	for file, verb := range screens {
		if _, shown := c.Files[file]; shown {
			keep(file, run(strings.Fields(verb)...))
		}
	}
	if strings.HasPrefix(c.Name, "screens-") {
		return files
	}
	switch {
	case isLive(c):
		keep("verify.txt", run("verify"))
		return files
	case isReview(c):
		keep("review.txt", reviewOf(t, c))
		return files
	case isRancher(c):
		keep("migrate.txt", migratedOf(t, c))
		return files
	}
	plan := run("plan", "-o", "json")
	var plans report.Plans
	if err := json.Unmarshal([]byte(plan.stdout), &plans); err != nil && plan.stdout != "" { // nothing is planned with wrong flags
		t.Fatalf("%v\n%s", err, plan.stderr)
	}
	message.add(t, plans)
	rule, isRule := ruleOf(t, c)
	keep("plan.txt", ran{planText(plans, !isRule), plan.stderr, plan.code})
	if isRule {
		keep("lint.txt", run("lint"))
		if rule.Fixable {
			files["fix.diff"] = headless(udiff.Unified("a/"+c.Input(), "b/"+c.Input(), c.Text(), run("lint", "--fix", "--stdout").stdout))
		}
		return files
	}
	keep("explain.txt", run("explain"))
	if len(plans.Clusters) > 0 {
		files["apply.txt"] = applied(c, plans, run)
	}
	return files
}

// planText is what a case has of a plan: the stages, which rules find something and where, and with diffs what
// changes. What stages say is prose.
func planText(plans report.Plans, diffs bool) string {
	var b strings.Builder
	found := func(list []transform.Finding) {
		for _, f := range list {
			fmt.Fprintf(&b, "  %s %s  %s:%d  %s\n", f.Severity, f.Rule, f.File, f.Line, f.Path)
		}
	}
	for _, p := range plans.Clusters {
		fmt.Fprintf(&b, "%s %s/%s  %s  %s:%d\n", p.Format, p.Namespace, p.Name, p.Version, p.Source.File, p.Source.Line)
		found(p.Findings)
		for _, s := range p.Stages {
			fmt.Fprintf(&b, "%s  %s  %s\n", s.Name, s.State, s.Count)
			found(s.Findings)
			if diffs {
				b.WriteString(s.Diff)
			}
		}
	}
	found(plans.Findings)
	return b.String()
}

// applied is what apply makes of every stage: "as planned", or the diff where other choices than those of the plan are
// needed, or hide secrets.
func applied(c golden.Case, plans report.Plans, run func(args ...string) ran) string {
	known := []string{"--end-state", "external"} // what someone answers for, or does manually
	switch {
	case strings.Contains(c.Text(), "machinePools"):
		known = nil
	case !strings.HasPrefix(c.Name, "rke2-"):
		known = append(known, "--manual-done", stages.GrantMigrationLease, "--manual-done", stages.InstallCCM, "--manual-done", stages.SwitchToExternal)
	}
	planned := map[string]string{}
	for _, s := range plans.Clusters[0].Stages {
		planned[s.Name] += headless(s.Diff)
	}
	var b strings.Builder
	before := c.Text()
	for _, stage := range stages.EditNames() {
		ofUpgrade := !slices.Contains(stages.UndoNames(), stage)
		if ofUpgrade != strings.Contains(c.Name, "-upgrade-") {
			continue
		}
		r := run(append([]string{"apply", "--stdout", "--through", "--stage", stage}, known...)...)
		fmt.Fprintf(&b, "%s  exit %d", stage, r.code)
		if r.code != transform.ExitDone {
			fmt.Fprintf(&b, "\n%s", r.stderr)
			continue
		}
		diff := udiff.Unified("a/"+c.Input(), "b/"+c.Input(), before, r.stdout)
		switch before = r.stdout; {
		case diff == "":
			b.WriteString("  unchanged\n")
		case headless(diff) == planned[stage]:
			b.WriteString("  as planned\n")
		default:
			b.WriteString("\n" + headless(diff))
		}
	}
	return b.String()
}

var hunk = regexp.MustCompile(`(?m)^@@.*$`)

// headless is a diff without the places of its hunks.
func headless(diff string) string { return hunk.ReplaceAllString(diff, "@@") }

// stageTexts is what stages say, each text once, with the formats that say it.
type stageTexts map[stageText][]string

type stageText struct{ stage, text string }

func (p stageTexts) add(t *testing.T, plans report.Plans) {
	for _, cluster := range plans.Clusters {
		named := strings.NewReplacer()
		if cluster.Name != "" {
			named = strings.NewReplacer(cluster.Name, "NAME")
		}
		for _, s := range cluster.Stages {
			texts := []string{named.Replace(s.Why)}
			if s.Gap != "" {
				texts = append(texts, "gap: "+s.Gap)
			}
			assert.Truef(t, len(s.Prepare) == 0 || s.Count != "done", "%s is done, and needs %v", s.Name, s.Prepare)
			for _, a := range slices.Concat(s.Prepare, s.Actions) {
				texts = append(texts, named.Replace(a.Why+":\n  "+a.Command))
			}
			for _, a := range s.Actions {
				assert.Truef(t, !strings.HasPrefix(a.Command, "aws "), "%s: %s is an action, which a run may carry out", s.Name, a.Command)
			}
			for _, text := range texts {
				if of := (stageText{s.Name, text}); !slices.Contains(p[of], cluster.Format) {
					p[of] = append(p[of], cluster.Format)
				}
			}
		}
	}
}

// compare requires that the stages say what they said, or stores what they say.
func (p stageTexts) compare(t *testing.T) {
	t.Helper()
	const name = "prose.txt"
	var got, stage string
	for _, of := range slices.SortedFunc(maps.Keys(p), func(a, b stageText) int {
		return cmp.Or(strings.Compare(a.stage, b.stage), strings.Compare(a.text, b.text))
	}) {
		if of.stage != stage {
			stage = of.stage
			got += "== " + stage + "\n\n"
		}
		slices.Sort(p[of])
		got += "[" + strings.Join(p[of], ", ") + "] " + of.text + "\n\n"
	}
	if *update {
		err := golden.Replace(name, []byte(got))
		assert.True(t, err == nil, err)
	} else if want := golden.Stored(name); want != got {
		t.Errorf("%s differs; if this is right, run: make golden\n%s", name, udiff.Unified("want/"+name, "got/"+name, want, got))
	}
}

// areNotIn requires that no other archive than that of screens has the reason of a stage, if it is of two sentences or
// more, so that one that changes changes few files.
func (p stageTexts) areNotIn(t *testing.T, cases []golden.Case) {
	t.Helper()
	for _, c := range cases {
		for name, text := range c.Outputs() {
			text = strings.Join(strings.Fields(text), " ")
			for of := range p {
				has := strings.Contains(of.text, ". ") && !slices.ContainsFunc(strings.Split(of.text, "NAME"), func(part string) bool { return !strings.Contains(text, part) })
				assert.Truef(t, !has || strings.HasPrefix(c.Name, "screens-"), "%s of %s has the reason of %s; move it to screens.txtar", name, c.Name, of.stage)
			}
		}
	}
}

// compare requires that the verbs print what a case expects, and nothing else.
func compare(t *testing.T, want, got map[string]string) {
	t.Helper()
	both := map[string]bool{}
	for _, files := range []map[string]string{want, got} {
		for name := range files {
			both[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if _, printed := got[name]; !printed {
			t.Errorf("%s is stale; run: make golden", name)
		} else if want[name] != got[name] {
			t.Errorf("%s differs; if this is right, run: make golden\n%s", name, udiff.Unified("want/"+name, "got/"+name, want[name], got[name]))
		}
	}
}

// sweep skips in short runs what tries one input after another: it depends on no timing, so that to repeat it finds nothing.
func sweep(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a sweep over many inputs, which runs without -short")
	}
}
