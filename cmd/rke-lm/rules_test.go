// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
)

// goldens is where the golden cases are; tests change the folder that they run in.
var goldens = func() string {
	folder, err := filepath.Abs("testdata/golden")
	if err != nil {
		panic(err)
	}
	return folder
}()

// shownRule is a rule of a distro and the golden cases that show it: rule-ID and
// rule-ID-not for the first distro that has the rule, rule-DISTRO-ID for another,
// and wherever there is a folder of that name.
type shownRule struct {
	transform.Rule
	folder string
}

// ruleOf returns the rule that a golden case shows, if it shows one.
func ruleOf(t *testing.T, folder string) (transform.Rule, bool) {
	t.Helper()
	name := filepath.Base(folder)
	if !strings.HasPrefix(name, "rule-") {
		return transform.Rule{}, false
	}
	for _, r := range allRules() {
		if r.folder == strings.TrimSuffix(name, "-not") {
			return r.Rule, true
		}
	}
	t.Fatalf("%s shows no rule of the table", folder)
	return transform.Rule{}, false
}

func allRules() []shownRule {
	var rules []shownRule
	first := map[string]string{} // rule → distro
	for _, d := range distros() {
		for _, r := range d.Rules {
			folder := "rule-" + r.ID
			own := "rule-" + d.Name + "-" + r.ID
			_, err := os.Stat(filepath.Join(goldens, own))
			if _, shared := first[r.ID]; shared || err == nil {
				folder = own
			}
			first[r.ID] = d.Name
			rules = append(rules, shownRule{r, folder})
		}
	}
	return rules
}

// linted runs lint on a golden case and returns what it says about a rule.
func linted(t *testing.T, folder, rule string, more ...string) []transform.Finding {
	t.Helper()
	input, flags := caseOf(t, folder)
	r := runHere(t, "", slices.Concat([]string{"lint", "-o", "json"}, more, flags, []string{filepath.Join(folder, input)})...)
	var list []transform.Finding
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("%v\n%s", err, r.stderr)
	}
	return slices.DeleteFunc(list, func(f transform.Finding) bool { return f.Rule != rule })
}

func TestEveryRuleIsShown(t *testing.T) {
	for _, r := range allRules() {
		t.Run(r.folder, func(t *testing.T) {
			folder := filepath.Join("testdata", "golden", r.folder)
			list := linted(t, folder, r.ID)
			if len(list) == 0 {
				t.Fatal("nothing is found in the case that shows it")
			}
			for _, f := range list {
				if f.Line < 2 || f.Message == "" || f.Fix == "" || f.File == "" {
					t.Errorf("%+v", f)
				}
			}
			if list := linted(t, folder+"-not", r.ID); len(list) > 0 {
				t.Errorf("found in the case that nearly shows it: %+v", list)
			}
		})
	}
}

func TestCasesOfRulesSayWhatTheyShow(t *testing.T) {
	inputs, err := filepath.Glob("testdata/golden/rule-*/input.*")
	if err != nil || len(inputs) != 2*len(allRules()) {
		t.Errorf("%d cases for %d rules, %v", len(inputs), len(allRules()), err)
	}
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); !strings.HasPrefix(string(text), "# ") || lines < 25 || lines > 60 {
			t.Errorf("%s has %d lines, or does not say what it shows", input, lines)
		}
	}
}

// A fix leaves nothing for its rule that it could correct, and nothing for
// itself: a second run changes nothing.
func TestFixesHold(t *testing.T) {
	for _, r := range allRules() {
		if !r.Fixable {
			continue
		}
		t.Run(r.folder, func(t *testing.T) {
			folder := filepath.Join("testdata", "golden", r.folder)
			file := filepath.Join(t.TempDir(), "input.yaml")
			text, err := os.ReadFile(filepath.Join(folder, "input.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			// The mode of a new file is also the user's mask to say.
			if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chmod(file, 0o640)); err != nil {
				t.Fatal(err)
			}
			before := linted(t, folder, r.ID)
			runHere(t, "", "lint", "--fix", file)
			once, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if again := runHere(t, "", "lint", "--fix", "--stdout", file); again.stdout != string(once) || string(once) == string(text) {
				t.Errorf("a second run makes:\n%s", again.stdout)
			}
			if after := linted(t, filepath.Dir(file), r.ID); len(after) >= len(before) {
				t.Errorf("before: %+v\nafter: %+v", before, after)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}
