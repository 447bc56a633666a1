// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// undoTargets are sets of choices that lead to different edits: each value of each choice, and each end state with an upgrade and without.
var undoTargets = map[string]transform.Target{
	"external":                              {EndState: transform.EndStateExternal},
	"aws-override":                          {EndState: transform.EndStateOverride, Cordon: transform.CordonAlways},
	"flag kept, upgraded":                   {EndState: transform.EndStateOverride, KeepLeaderMigration: true, Version: "next", Cordon: transform.CordonNever},
	"short leases":                          {EndState: transform.EndStateExternal, ShortLeases: true},
	"short leases, upgraded":                {EndState: transform.EndStateExternal, ShortLeases: true, Version: "next"},
	"without migration":                     {EndState: transform.EndStateExternal, NoLeaderMigration: true},
	"without migration, chart of one's own": {EndState: transform.EndStateOverride, NoLeaderMigration: true, Version: "next", ChartVersion: "0.0.7", ImageRepository: "registry.example.com/ccm"},
}

// nextMinor is a release one minor up; most releases of 1.2x have it.
var nextMinor = map[string]string{
	"v1.22": "v1.23.17+rke2r1", "v1.23": "v1.24.17+rke2r1", "v1.24": "v1.25.16+rke2r1", "v1.25": "v1.26.15+rke2r1", "v1.26": "v1.27.16+rke2r1",
}

func TestAStageThatCannotBeEditedBlocksNoEarlierOne(t *testing.T) {
	shows(t, transform.ExitDone, "apply --next --stdout "+inputOf(t, "rke2-anchors"), "grant-migration-lease printed")
}

// TestEveryStageCanBeUndone plans every golden input in every way, and applies
// and undoes the plans. What follows from a document alone is worked out once for all of them, and
// plans and steps that several choices make alike are tested with the first of these.
func TestEveryStageCanBeUndone(t *testing.T) {
	sweep(t)
	var timed atomic.Int32 // clusters that get timings
	t.Cleanup(func() { assert.Truef(t, timed.Load() > 50, "only %d clusters get timings", timed.Load()) })
	for _, file := range goldenFiles(t) {
		rule := strings.HasPrefix(file.Name, "rule-") // one rule in a file that is like all others
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			for _, doc := range goldenDocuments(file) {
				plans, made := map[string]*plan.Plan{}, edits{}
				for _, name := range slices.Sorted(maps.Keys(undoTargets)) {
					few := rule && name != "external" && name != "flag kept, upgraded"
					if few && name != "short leases" {
						continue
					}
					d, p := goldenPlan(doc, undoTargets[name])
					if plans[name] = p; few || p == nil {
						continue
					}
					t.Run(name, func(t *testing.T) {
						if made.first("in order", p.Steps...) {
							savedPlanGoesForwardAndBack(t, p)
							whatIsUndoneCanBeAppliedAgain(t, d, p)
						}
						for _, step := range p.Steps {
							if !step.Changes() || !made.first("alone", step) {
								continue
							}
							undoGivesBackTheTreeOrRefuses(t, d, step, p.Target)
							if target := p.Target; target.ShortLeases {
								target.ShortLeases = false // the documents show it
								undoGivesBackTheTreeOrRefuses(t, d, step, target)
							}
						}
					})
				}
				if timingsAreAllThatChanges(t, doc, plans["external"], plans["short leases"]) {
					timed.Add(1)
				}
			}
		})
	}
}

// goldenDocuments are those of a golden input that can be read.
func goldenDocuments(c golden.Case) (docs []*yamledit.Document) {
	for _, chunk := range chunksOf(c) {
		if doc, err := transform.Parse(chunk); err == nil {
			docs = append(docs, doc)
		}
	}
	return docs
}

// goldenPlan plans a document; what is refused has no plan.
func goldenPlan(doc *yamledit.Document, target transform.Target) (transform.Format, *plan.Plan) {
	for _, d := range formats() {
		if !d.Owns(doc) {
			continue
		}
		if target.Version == "next" {
			if target.Version = nextVersion(d, doc); target.Version == "" {
				return d, nil
			}
		}
		if p, err := plan.Build(d, transform.Only(doc), target); err == nil {
			return d, p
		}
	}
	return transform.Format{}, nil
}

// nextVersion is a release one minor up, as the format writes it, or "".
func nextVersion(d transform.Format, doc *yamledit.Document) string {
	c, err := d.Open(transform.Only(doc), transform.Target{})
	if err != nil {
		return ""
	}
	next := nextMinor[semver.MajorMinor(c.Identity().Version)]
	if d.Name == rke1.Name {
		next = strings.Replace(next, "+rke2r1", "-rancher1-1", 1)
	}
	return next
}

// savedPlanGoesForwardAndBack applies a plan through its saved form, one stage after
// the other and all at once, again, and back.
func savedPlanGoesForwardAndBack(t *testing.T, p *plan.Plan) {
	s := decoded[plan.Saved](t, string(assert.Value(json.Marshal(p.Save("")))(t)))
	assert.True(t, s.Source.Around != nil || endsInKeptComment(p.Start[0], p.Steps[len(p.Steps)-1].Documents[0].After), "a neighbour would make the plan stale")
	s.Target.ManualDone = stages.Names()
	doc, edits := p.Start[0], []string(nil)
	for _, step := range p.Steps {
		if !step.Changes() {
			continue
		}
		edits = append(edits, step.Stage.Name)
		doc = moved(t, doc, s, 1, step.Documents[0].After, plan.Choice{Next: true})
	}
	last, made := p.Steps[len(p.Steps)-1], len(edits)
	if made == 0 {
		return
	}
	for _, c := range []plan.Choice{{Next: true}, {Stage: last.Stage.Name}, {Stage: edits[0], Through: true}} {
		moves, err := steps(s, doc, c)
		assert.Truef(t, err == nil && len(moves) == 0, "%v: something is left to do: %d stages, %v", c, len(moves), err)
	}
	moves, err := s.Undo(transform.Only(doc), edits[0], true)
	assert.Truef(t, err == nil && len(moves) == made && string(moves[made-1].After()[0].Bytes()) == string(p.Start[0].Bytes()), "%d of %d stages were undone: %v", len(moves), made, err)
	moved(t, p.Start[0], s, made, last.Documents[0].After, plan.Choice{Stage: edits[made-1], Through: true})
}

// endsInKeptComment reports whether a stage left a comment after the content of a
// document, where a neighbour's could be as well.
func endsInKeptComment(before, after *yamledit.Document) bool {
	_, was := before.Content()
	_, is := after.Content()
	return string(before.Bytes()[was:]) != string(after.Bytes()[is:])
}

// moved goes forward and expects so many stages and a document.
func moved(t *testing.T, doc *yamledit.Document, s plan.Saved, stages int, want *yamledit.Document, c plan.Choice) *yamledit.Document {
	t.Helper()
	moves, err := steps(s, doc, c)
	assert.Mustf(t, err == nil && len(moves) == stages, "%v: %d stages instead of %d: %v", c, len(moves), stages, err)
	got := moves[stages-1].After()[0].Bytes()
	assert.Mustf(t, string(got) == string(want.Bytes()), "%v leads to\n%s", c, got)
	return want
}

// steps are those that a choice takes from a saved plan.
func steps(s plan.Saved, doc *yamledit.Document, c plan.Choice) ([]plan.Step, error) {
	p, err := s.Open(transform.Only(doc))
	if err != nil {
		return nil, err
	}
	return p.Choose(c)
}

// edits are those of a document.
type edits map[string]bool

// first reports whether no steps before made these edits, one after the other.
func (e edits) first(tested string, steps ...plan.Step) bool {
	all := bytes.NewBufferString(tested)
	for _, s := range steps {
		if s.Changes() {
			fmt.Fprintf(all, "\x00%s\x00%s\x00%s", s.Stage.Name, s.Before()[0].Bytes(), s.After()[0].Bytes())
		}
	}
	seen := e[all.String()]
	e[all.String()] = true
	return !seen
}

// undoGivesBackTheTreeOrRefuses takes a stage back without the plan.
func undoGivesBackTheTreeOrRefuses(t *testing.T, d transform.Format, step plan.Step, target transform.Target) {
	steps, err := plan.Undo(d, step.After(), target, step.Stage.Name, false)
	if err != nil {
		isClear(t, step.Stage.Name, err)
		return
	}
	assert.Mustf(t, len(steps) == 1, "%s: %d steps", step.Stage.Name, len(steps))
	if step.Stage.Name == stages.SwitchToExternal {
		return // what it leaves open differs, and Undo proves that the stage leads back from there
	}
	if had := bytes.Contains(step.Before()[0].Bytes(), []byte(leadermigration.Flag)); had && step.Stage.Name == stages.EnableLeaderMigration {
		return // the stage only adds what is missing of it, and the flag is a part of it
	}
	before, back := step.Before()[0].Root().Value(), steps[0].After()[0].Root().Value()
	if !yamledit.Same(before, back) {
		t.Errorf("%s: the tree is another one (-before +after):\n%s", step.Stage.Name, cmp.Diff(before, back))
	}
}

// isClear requires that a refusal is a conflict that states what to do.
func isClear(t *testing.T, stage string, err error) {
	t.Helper()
	var c *transform.Conflict
	hints := []string{"undo it with its plan folder (--plan), or restore the file from git", "undo it first, or add --through", "keep the external provider", "restore a snapshot of etcd together with the release of that time", "change the timings of one of them first"}
	assert.Truef(t, errors.As(err, &c) && slices.ContainsFunc(hints, func(w string) bool { return strings.Contains(err.Error(), w) }), "%s: %v", stage, err)
}

// whatIsUndoneCanBeAppliedAgain takes all stages back at once, in the usual form,
// and applies them again.
func whatIsUndoneCanBeAppliedAgain(t *testing.T, d transform.Format, p *plan.Plan) {
	target := p.Target
	target.CanonicalForm = true
	last := p.Steps[len(p.Steps)-1].After()
	steps, err := plan.Undo(d, last, target, p.Steps[0].Stage.Name, true)
	if err != nil {
		isClear(t, "all stages", err)
		return
	}
	if len(steps) == 0 {
		return
	}
	again := assert.Value(plan.Build(d, steps[len(steps)-1].After(), target))(t)
	is := again.Steps[len(again.Steps)-1].After()
	if !yamledit.Same(last[0].Root().Value(), is[0].Root().Value()) {
		t.Errorf("applied again it is another one (-before +after):\n%s", cmp.Diff(last[0].Root().Value(), is[0].Root().Value()))
	}
}
