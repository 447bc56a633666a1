// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// shownBy returns what a collector of text writes, to its output and to its errors.
func shownBy(do func(*Collector)) (out, err string, code int) {
	var o, e strings.Builder
	c := NewCollector(&Output{OutputFormat: "text", Out: &o, Err: &e, Data: &o}, Results{})
	do(c)
	return o.String(), e.String(), c.Code
}

func TestALiveClusterHasItsLineAtOnceAndAFileWhenItsClustersAreCounted(t *testing.T) {
	became := Outcome{Name: "fen: ", What: "install-ccm applied"}
	for live, want := range map[bool]string{true: "fen: install-ccm applied\n", false: ""} {
		_, shown, _ := shownBy(func(c *Collector) { c.Applied(Applied{Became: became, Live: live}) })
		assert.Equal(t, shown, want, "live", live)
	}
}

func TestWhatIsKnownOfAClusterComesBeforeTheErrorsOfItsFiles(t *testing.T) {
	out, shown, code := shownBy(func(c *Collector) {
		c.Applied(Applied{
			Findings: [][]transform.Finding{{{Rule: "a-rule", Severity: transform.Warning, File: "a.yaml", Line: 3, Message: "it is odd"}}},
			Cautions: []string{"the flag returns"}, Manual: []plan.Step{{Manual: true, Stage: transform.Stage{Name: "install-ccm"}}}, Open: true,
			Diffs: []string{"--- a\n+++ b\n"}, Warnings: []string{"fen: the server warns: old"},
			Ends: Ends{Notes: []string{"a.yaml: not written, because of errors in it"}, Errs: []error{transform.NewError(transform.ExitRefused, "a.yaml: no")}},
		})
	})
	assert.Truef(t, strings.HasPrefix(out, "--- a\n") && code == transform.ExitRefused, "%q, exit code %d", out, code)
	contains(t, shown, "a-rule", "caution: the flag returns", "install-ccm  manual", "the server warns", "not written, because", "error: a.yaml: no")
	_, _, code = shownBy(func(c *Collector) { c.Applied(Applied{Open: true}) })
	assert.Equal(t, code, transform.ExitFound, "a manual stage")
}

func TestAfterTheOnlyClusterComesItsNextCommand(t *testing.T) {
	state := func(next string) States {
		return States{Of: []Status{{Next: next, File: "a.yaml"}}, Alone: true, Check: "rke-lm verify --stage x"}
	}
	for name, c := range map[string]struct {
		states States
		undone bool
		want   string
	}{
		"a stage is left":   {state("install-ccm"), false, "before the next stage: commit, roll out, and check it:\n  rke-lm verify --stage x --context CONTEXT\nnext: rke-lm apply --next a.yaml\n"},
		"none is left":      {state(""), false, "now: commit, roll out, and check it:\nnext: rke-lm verify --stage x --context CONTEXT\n"},
		"it is undone":      {state("install-ccm"), true, "now: commit, roll out, and check it:\nnext: rke-lm verify --stage x --context CONTEXT\n"},
		"it is live":        {States{Check: "rke-lm verify", Live: "fleet-default/fen"}, false, "before the next stage: wait for the rollout, and check it:\n  rke-lm verify --cluster fleet-default/fen\n"},
		"nothing changed":   {States{}, false, ""},
		"there are so many": {States{Clusters: 200, TooMany: true}, false, "clusters: 200; rke-lm plan --summary shows their states\n"},
	} {
		_, shown, _ := shownBy(func(all *Collector) { all.WriteAfter(c.states, c.undone) })
		assert.Equal(t, shown, c.want, name)
	}
}

func TestARefusalThatWasFoundKeepsItsCode(t *testing.T) {
	out, shown, code := shownBy(func(c *Collector) {
		c.Checked(Checked{Found: []Subject{{Findings: []transform.Finding{{Rule: "a-rule", Severity: transform.Error, Message: "no"}}}}, Code: transform.ExitRefused})
		c.Checked(Checked{Err: errors.New("b.yaml: broken")})
	})
	assert.Truef(t, strings.Contains(out, "a-rule") && shown == "error: b.yaml: broken\n" && code == transform.ExitRefused, "%q, %q, exit code %d", out, shown, code)
}

func TestExplainShowsWhatMachinesGetAndEveryError(t *testing.T) {
	all := []Explained{
		{Config: EffectiveConfig{Name: "fen", Namespace: "fleet-default", Format: "rke2", Source: Source{File: "a.yaml", Line: 1}}},
		{Diffs: []string{"--- a\n"}}, {Note: "b.yaml: nothing changes"}, {Err: errors.New("c.yaml: broken")},
	}
	out, shown, _ := shownBy(func(c *Collector) { c.WriteExplained(all) })
	assert.Truef(t, strings.HasPrefix(out, "rke2 fleet-default/fen  a.yaml:1\n") && strings.HasSuffix(out, "--- a\n") && shown == "b.yaml: nothing changes\nerror: c.yaml: broken\n", "%q, %q", out, shown)
	out, _, _ = shownBy(func(c *Collector) { c.OutputFormat = "json"; c.WriteExplained(all[:1]) })
	assert.True(t, strings.Contains(out, `"kind": "EffectiveConfig"`) && strings.Contains(out, `"name": "fen"`), out)
}
