// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// TestEveryRuleIsExplained holds the reasons to the tables: what can be accepted has a
// reason to, and nothing else has.
func TestEveryRuleIsExplained(t *testing.T) {
	all, _ := run.Rules(formats())
	for _, r := range all {
		assert.Truef(t, r.Finds != "" && r.Why != "" && r.Source != "" && r.Repair != "", "%s: %+v", r.Name, r)
		assert.Truef(t, r.Acceptable == (r.Accept != ""), "%s can be accepted: %t; when: %q", r.Name, r.Acceptable, r.Accept)
		said := runHere(t, "", "rules", r.Name)
		never := strings.Contains(said.stdout, "--accept is refused")
		assert.Truef(t, said.code == exitcode.Done && never != r.Acceptable, "rules %s: exit code %d\n%s", r.Name, said.code, said.stdout)
	}
}

// TestEveryRuleThatIsPrintedIsExplained reads the names that the golden cases print.
func TestEveryRuleThatIsPrintedIsExplained(t *testing.T) {
	known := run.RuleNames(formats())
	printed := regexp.MustCompile(`(?m)^ *(?:error|warning|note) ([a-z-]+)  `)
	for _, c := range golden.Inputs(t) {
		for _, file := range c.Outputs() {
			for _, m := range printed.FindAllStringSubmatch(file, -1) {
				assert.Truef(t, slices.Contains(known, m[1]), "%s prints the rule %s, which `rke-lm rules` does not know", c.Name, m[1])
			}
		}
	}
}
