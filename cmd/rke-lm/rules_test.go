// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
)

// shownRule is a rule of a format and the golden cases that show it: rule-ID and
// rule-ID-not for the first format that has the rule, rule-FORMAT-ID for another,
// and wherever there is a case of that name.
type shownRule struct {
	transform.Rule
	golden string
}

// ruleOf returns the rule that a golden case shows, if it shows one.
func ruleOf(t *testing.T, c golden.Case) (transform.Rule, bool) {
	t.Helper()
	if !strings.HasPrefix(c.Name, "rule-") {
		return transform.Rule{}, false
	}
	for _, r := range allRules(t) {
		if r.golden == strings.TrimSuffix(c.Name, "-not") {
			return r.Rule, true
		}
	}
	t.Fatalf("%s shows no rule of the table", c.Name)
	return transform.Rule{}, false
}

func allRules(t *testing.T) []shownRule {
	t.Helper()
	cases := golden.Inputs(t)
	var rules []shownRule
	first := map[string]string{} // rule → format
	for _, d := range formats() {
		for _, r := range d.Rules {
			if d.Name == manifests.Name && r.ID == transform.RuleDuplicate {
				continue // it is of two folders: see TestAClusterThatIsDescribedTwiceIsRefused
			}
			name := "rule-" + r.ID
			own := "rule-" + d.Name + "-" + r.ID
			_, shared := first[r.ID]
			if shared || slices.ContainsFunc(cases, func(c golden.Case) bool { return c.Name == own }) {
				name = own
			}
			first[r.ID] = d.Name
			rules = append(rules, shownRule{r, name})
		}
	}
	return rules
}

// linted runs lint on a golden case and returns what it says about a rule.
func linted(t *testing.T, name, rule string) []transform.Finding {
	t.Helper()
	c := golden.Input(t, name)
	t.Chdir(c.LayOut(t)) // flags name files of the case
	return lintedFile(t, c.Input(), rule, c.Flags()...)
}

func lintedFile(t *testing.T, file, rule string, flags ...string) []transform.Finding {
	t.Helper()
	r := runHere(t, "", slices.Concat([]string{"lint", "-o", "json"}, flags, []string{file})...)
	list := decoded[[]transform.Finding](t, r.stdout)
	return slices.DeleteFunc(list, func(f transform.Finding) bool { return f.Rule != rule })
}

func TestEveryRuleIsShown(t *testing.T) {
	sweep(t)
	for _, r := range allRules(t) {
		t.Run(r.golden, func(t *testing.T) {
			list := linted(t, r.golden, r.ID)
			assert.Must(t, len(list) != 0, "nothing is found in the case that shows it")
			for _, f := range list {
				assert.True(t, f.Line >= 2 && f.Message != "" && f.Fix != "" && f.File != "", f)
			}
			if list := linted(t, r.golden+"-not", r.ID); len(list) > 0 {
				t.Errorf("found in the case that nearly shows it: %+v", list)
			}
		})
	}
}

func TestCasesOfRulesSayWhatTheyShow(t *testing.T) {
	cases, rules := golden.Inputs(t, "rule-"), allRules(t)
	assert.Truef(t, len(cases) == 2*len(rules), "%d cases for %d rules", len(cases), len(rules))
	for _, c := range cases {
		lines := strings.Count(c.Text()+c.Files["values.yaml"], "\n")
		assert.Truef(t, strings.HasPrefix(c.Text(), "# ") && lines >= 25 && lines <= 60, "%s has %d lines, or does not say what it shows", c.Name, lines)
	}
}

// A fix leaves nothing for its rule that it could correct, and nothing for
// itself: a second run changes nothing.
func TestFixesHold(t *testing.T) {
	for _, r := range allRules(t) {
		if !r.Fixable {
			continue
		}
		t.Run(r.golden, func(t *testing.T) {
			text := golden.Input(t, r.golden).Text()
			file := filepath.Join(t.TempDir(), "input.yaml")
			// The mode of a new file is also the user's mask to say.
			assert.NilError(t, errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, 0o640)))
			before := linted(t, r.golden, r.ID)
			runHere(t, "", "lint", "--fix", file)
			once := textOf(t, file)
			again := runHere(t, "", "lint", "--fix", "--stdout", file)
			assert.Truef(t, again.stdout == once && once != text, "a second run makes:\n%s", again.stdout)
			after := lintedFile(t, file, r.ID)
			assert.Truef(t, len(after) < len(before), "before: %+v\nafter: %+v", before, after)
			info, err := os.Stat(file)
			assert.Truef(t, err == nil && info.Mode().Perm() == 0o640, "%v, %v", info.Mode(), err)
		})
	}
}

// TestEveryRuleIsExplained holds the reasons to the tables: what can be accepted has a
// reason to, and nothing else has.
func TestEveryRuleIsExplained(t *testing.T) {
	sweep(t)
	all, _ := run.Rules(formats())
	for _, r := range all {
		assert.Truef(t, r.Finds != "" && r.Why != "" && r.Source != "" && r.Repair != "", "%s: %+v", r.Name, r)
		assert.Truef(t, r.Acceptable == (r.Accept != ""), "%s can be accepted: %t; when: %q", r.Name, r.Acceptable, r.Accept)
		message := runHere(t, "", "rules", r.Name)
		never := strings.Contains(message.stdout, "--accept is refused")
		assert.Truef(t, message.code == transform.ExitDone && never != r.Acceptable, "rules %s: exit code %d\n%s", r.Name, message.code, message.stdout)
	}
}
