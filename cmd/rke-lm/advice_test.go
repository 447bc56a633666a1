// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// TestAdviceOfEveryRuleCanBeFollowed breaks every rule and reads what each verb advises: a
// flag that is offered exists there, and --accept of a rule accepts it.
func TestAdviceOfEveryRuleCanBeFollowed(t *testing.T) {
	sweep(t)
	a := advisor{t: t, root: newRoot(streams{})}
	for _, c := range breaking(t) {
		t.Run(c.Name, func(t *testing.T) {
			a.t = t
			file := filepath.Join(c.LayOut(t), c.Input())
			if strings.HasPrefix(c.Name, "live-") {
				a.follow("verify", append(c.Flags(), "--from", file)...)
				return
			}
			a.follow("lint", append(c.Flags(), file)...)
			a.follow("plan", append(c.Flags(), file)...)
			for _, last := range []string{stages.DisableLeaderMigration, stages.UpgradeCCM} { // the first that is blocked gives advice, whatever is to follow
				a.follow("apply", append(c.Flags(), "--dry-run", "--through", "--stage", last, file)...)
			}
		})
	}
	assert.Truef(t, a.accepted >= 100 && a.others >= 20, "only %d times was --accept offered, and other flags %d times", a.accepted, a.others)
}

// breaking are the golden cases that break a rule.
func breaking(t *testing.T) []golden.Case {
	return slices.DeleteFunc(slices.Concat(golden.Inputs(t, "rule-"), golden.Inputs(t, "live-")), func(c golden.Case) bool { return strings.HasSuffix(c.Name, "-not") })
}

// advisor follows what verbs advise, and counts it.
type advisor struct {
	t                *testing.T
	root             *cobra.Command
	accepted, others int
}

var (
	// offered is a flag in a text, with what may be its value.
	offered = regexp.MustCompile(`--([a-z][a-z-]*)(?:[ =]([a-z][a-z0-9-]*))?`)
	// otherPrograms are commands with flags of their own.
	otherPrograms = regexp.MustCompile("(?m)(kubectl|kubeadm|aws|helm|rke) .*$")
	// others is a verb right before its flag.
	others = regexp.MustCompile(`\b(plan|apply|lint|explain|verify|leader-migration-config) $`)
	// folded is a break that only the width made.
	folded = regexp.MustCompile(`\n  +`)
)

// follow runs a verb, and again with each flag that it offers.
func (a *advisor) follow(verb string, args ...string) {
	a.t.Helper()
	first := runHere(a.t, "", append([]string{verb}, args...)...)
	text := folded.ReplaceAllString(first.stderr, " ")
	for _, f := range found(a.t, verb, args) {
		text += "\n" + f.Message + "\n" + f.Fix
	}
	text = otherPrograms.ReplaceAllString(text, "")
	tried := map[string]bool{}
	for _, at := range offered.FindAllStringSubmatchIndex(text, -1) {
		flag, value := text[at[2]:at[3]], ""
		if at[4] >= 0 {
			value = text[at[4]:at[5]]
		}
		if m := others.FindStringSubmatch(text[:at[0]]); m != nil {
			a.exists(m[1], flag, verb, args)
		} else if with := flag + "=" + value; !tried[with] && a.anywhere(flag) && (!slices.Contains(ofComponents, flag) || slices.Contains(run.ChoiceValues[flag], value)) && a.exists(verb, flag, verb, args) {
			tried[with] = true
			a.try(verb, flag, value, args, first.code)
		}
	}
}

// ofComponents are flags of rke-lm that managers and kubelets have as well.
var ofComponents = []string{"config", "cluster", "version", "kubeconfig", "leader-migration-config"}

// anywhere reports whether a flag is one of rke-lm.
func (a *advisor) anywhere(flag string) bool {
	return slices.ContainsFunc(a.root.Commands(), func(c *cobra.Command) bool { return c.Flag(flag) != nil })
}

// exists reports whether a verb has a flag that a verb advises.
func (a *advisor) exists(verb, flag, by string, args []string) bool {
	a.t.Helper()
	c, _, err := a.root.Find([]string{verb})
	if err != nil || c.Flag(flag) == nil {
		a.t.Errorf("%s %v advises --%s, which %s does not have", by, args, flag, verb)
		return false
	}
	return true
}

// try runs a verb with a flag that it advises.
func (a *advisor) try(verb, flag, value string, args []string, before int) {
	a.t.Helper()
	switch {
	case flag == "accept":
		a.accepted++
		a.accept(verb, value, args)
	case slices.Contains(run.ChoiceValues[flag], value) && !slices.Contains(args, "--"+flag):
		a.others++
		r := runHere(a.t, "", append([]string{verb, "--" + flag + "=" + value}, args...)...)
		assert.Truef(a.t, r.code != transform.ExitInput || before == transform.ExitInput || !strings.Contains(r.stderr, "--"+flag), "%s %v advises --%s %s, and refuses it: %s", verb, args, flag, value, r.stderr)
	}
}

// accept accepts a rule, which stops nothing after that.
func (a *advisor) accept(verb, rule string, args []string) {
	a.t.Helper()
	with := append([]string{"--accept", rule}, args...)
	r := runHere(a.t, "", append([]string{verb}, with...)...)
	assert.Truef(a.t, r.code != transform.ExitInput || !strings.Contains(r.stderr, "--accept "+rule), "%s %v advises --accept %s, and refuses it: %s", verb, args, rule, r.stderr)
	assert.Truef(a.t, !strings.Contains(r.stderr, "error "+rule+"  "), "%s %v: --accept %s changes nothing: %s", verb, args, rule, r.stderr)
	for _, f := range found(a.t, verb, with) {
		assert.Truef(a.t, f.Rule != rule || !f.Stops(), "%s %v: --accept %s changes nothing", verb, args, rule)
	}
}

// found reads the findings from the JSON of a verb, in whatever place of it they are.
func found(t *testing.T, verb string, args []string) (list []transform.Finding) {
	t.Helper()
	if verb == "apply" {
		return nil // it has no JSON
	}
	r := runHere(t, "", append([]string{verb, "-o", "json"}, args...)...)
	if r.stdout == "" {
		return nil
	}
	value := decoded[any](t, r.stdout)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if v["rule"] != nil && v["fix"] != nil {
				list = append(list, decoded[transform.Finding](t, string(assert.Value(json.Marshal(v))(t))))
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(value)
	return list
}
