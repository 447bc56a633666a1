// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/review"
)

// Cases of rules that need more than a file: review-ID shows one of changes, rancher-ID one of the objects of a
// Rancher. live-ID is the dump of a cluster.
func isReview(c golden.Case) bool  { return strings.HasPrefix(c.Name, "review-") }
func isRancher(c golden.Case) bool { return strings.HasPrefix(c.Name, "rancher-") }

// reviewOf reviews a change: input.yaml is the base, which change.diff edits.
func reviewOf(t *testing.T, c golden.Case) ran {
	t.Helper()
	h := newHistory(t)
	h.changed(map[string]string{c.Input(): c.Text()}, func(h *history) {
		h.write(".git/change.diff", c.Files["change.diff"])
		h.git("apply", ".git/change.diff")
	})
	return runReview(t, append(c.Flags(), "--base", "main", "--head", "change")...)
}

// runReview runs review and leaves the reasons of stages out, which are golden once, with the plans.
func runReview(t *testing.T, args ...string) ran {
	t.Helper()
	r := runHere(t, "", append([]string{"review"}, args...)...)
	for _, cluster := range decoded[report.Review](t, runHere(t, "", append([]string{"review", "-o", "json"}, args...)...).stdout).Clusters {
		for _, s := range cluster.Stages {
			reason := report.Palette{}.Wrap(s.Why, "    ") + "\n"
			assert.Truef(t, s.Why != "" && strings.Contains(r.stdout, "\n  "+s.Name+"\n"+reason), "%q in\n%s", reason, r.stdout)
			r.stdout = strings.ReplaceAll(r.stdout, reason, "    (its reason)\n")
		}
	}
	return r
}

// migratedOf runs a migration that is refused, in a Rancher with the cluster of migratetest: input.yaml has what one of
// its objects has in addition, and release.yaml the values of a release of the chart.
func migratedOf(t *testing.T, c golden.Case) (r ran) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		world, name := migratetest.NewRKE2, "orchard"
		if strings.Contains(c.Text(), "management.cattle.io") {
			world, name = migratetest.NewRKE1, migratetest.RKE1ID
		}
		w := world(t)
		w.Forget()
		if values, is := c.Files["release.yaml"]; is {
			w.PutRelease(t, values)
		}
		merge(t, w.Rancher, parsedYAML(t, c.Text()))
		r = runHere(t, "", slices.Concat([]string{"migrate", "--yes", "--cluster", name, "--until", "install-ccm"}, c.Flags(), strings.Fields(toWorld(t, w.URL, w.Rancher)))...)
		_, r.stderr, _ = strings.Cut(r.stderr, "\n") // any certificate is accepted
		assert.True(t, len(w.Writes()) == 0 && r.code == transform.ExitRefused, r)
	})
	return r
}

// merge gives an object of a Rancher what a patch has in addition.
func merge(t *testing.T, r *ranchertest.Server, patch map[string]any) {
	t.Helper()
	for _, text := range r.Objects() {
		o := parsedYAML(t, text)
		if o["apiVersion"] == patch["apiVersion"] && o["kind"] == patch["kind"] && field(o, "metadata", "name") == field(patch, "metadata", "name") {
			r.Put(t, string(assert.Value(jsonpatch.MergePatch([]byte(text), assert.Value(json.Marshal(patch))(t)))(t)))
			return
		}
	}
	t.Fatalf("no object to change: %v", patch)
}

// printedRule is a finding in what verbs print.
var printedRule = regexp.MustCompile(`(?m)^ *(?:error|warning|note) ([a-z0-9-]+)  `)

// TestEveryRuleIsInAGoldenCase holds that the archives print the names of all rules, and no other: that of files in
// rule-ID, of live clusters in live-ID, of changes in review-ID, and of the objects of a Rancher in rancher-ID.
func TestEveryRuleIsInAGoldenCase(t *testing.T) {
	known, printed := run.RuleNames(formats()), map[string]bool{}
	for _, c := range golden.Inputs(t) {
		for _, text := range c.Outputs() {
			for _, m := range printedRule.FindAllStringSubmatch(text, -1) {
				printed[m[1]] = true
				assert.Truef(t, slices.Contains(known, m[1]), "%s prints the rule %s, which `rke-lm rules` does not know", c.Name, m[1])
			}
		}
	}
	for _, name := range known {
		assert.Truef(t, printed[name], "no golden case prints the rule %s", name)
	}
	for prefix, rules := range map[string][]transform.Rule{"review-": review.Rules(), "rancher-": rollout.Rules()} {
		assert.Equal(t, len(golden.Inputs(t, prefix)), len(rules), prefix)
		for _, r := range rules {
			c := golden.Input(t, prefix+r.ID)
			assert.Truef(t, strings.HasPrefix(c.Text(), "# "), "%s does not say what it shows", c.Name)
			for _, text := range c.Outputs() {
				assert.Contains(t, text, " "+r.ID+"  ")
			}
		}
	}
}
