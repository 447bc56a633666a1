// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// fewestGraftedManifests is how many manifests of a corpus must be planned once
// they are on AWS. All variants of one count once.
const fewestGraftedManifests = 3

// manifestTargets are the choices with which every manifest is planned.
var manifestTargets = map[string]transform.Target{
	"by default":           {},
	"with a configuration": {LeaderMigrationConfig: transform.ConfigGenerate, LeaseName: "harbour-lease"},
	"moving the release":   {Version: "v1.27.16", LeaderMigrationConfig: transform.ConfigGenerate},
	"without migration":    {NoLeaderMigration: true},
	"with nodeipam":        {NodeIPAM: true, Accept: []string{"nodeipam-without-ccm-support"}},
}

// manifestsSampled is the share of the variants that is planned with each target,
// another one with every target.
const manifestsSampled = 2

// manifestRun plans manifests and holds every plan to what plans promise.
type manifestRun struct {
	propertyRun
	target transform.Target
}

func (r *manifestRun) plan(doc *yamledit.Document, name string) bool {
	r.t.Helper()
	r.tried++
	plan, err := plan.Build(manifests.Distro(), transform.Only(doc), r.target)
	if err != nil {
		r.refused.add(err, name)
		if isOwnMistake(err) {
			r.mistakes++
		}
		return false
	}
	r.planned++
	r.count(plan)
	if err := r.check(plan); err != nil {
		r.t.Errorf("%s, %s:\n%v", placeOf(doc), name, err)
	}
	return true
}

func (r *manifestRun) check(plan *plan.Plan) error {
	o, err := outcomeOf(plan)
	if err != nil {
		return err
	}
	errs := []error{stepsFollowEachOther(o), undoingAllRestores(o)}
	for i, s := range o.Steps {
		if !s.Changes() {
			continue
		}
		for _, property := range []func(*outcome, int) error{splicesGoForwardAndBack, othersCommentsAreKept, onlyManagersPartsDiffer, r.applyingAgain} {
			if err := property(o, i); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Stage.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// applyingAgain plans from the bytes after a stage: all up to it is done, and the
// rest ends in the same bytes.
func (r *manifestRun) applyingAgain(o *outcome, i int) error {
	doc, err := transform.Parse(o.Steps[i].Documents[0].After.Chunk())
	if err != nil {
		return fmt.Errorf("the result does not parse: %w", err)
	}
	again, err := plan.Build(manifests.Distro(), transform.Only(doc), r.target)
	if err != nil {
		return fmt.Errorf("the result cannot be planned: %w", err)
	}
	for _, s := range again.Steps[:i+1] {
		if s.Left() || s.Changes() {
			return fmt.Errorf("planned again, %s is %s", s.Stage.Name, s.State)
		}
	}
	if !bytes.Equal((&outcome{Plan: again}).last().Bytes(), o.last().Bytes()) {
		return errors.New("planned again, the last stage ends in other bytes")
	}
	return nil
}

// managersParts are the places that stages may change: the arguments, the volumes
// and mounts, the image, and the annotation of a finished migration.
var managersParts = regexp.MustCompile(`(^|\.)(command|args|volumes|volumeMounts|image|annotations|kubernetesVersion)\b|^controllerManager\.extra(Args|Volumes)\b|^nodeRegistration\.kubeletExtraArgs\b`)

// onlyManagersPartsDiffer compares the values as another YAML reader sees them.
func onlyManagersPartsDiffer(o *outcome, i int) error {
	for _, d := range o.changes[i] {
		if !managersParts.MatchString(d.path) {
			return fmt.Errorf("%s changes", spot(d.was))
		}
	}
	return nil
}

// othersCommentsAreKept lets only those comments go that are after a flag of the
// migration, or inside of what goes as a whole.
func othersCommentsAreKept(o *outcome, i int) error {
	before := o.Steps[i].Documents[0].Before
	left := commentsOf(o.Steps[i].Documents[0].After.Bytes())
	for _, d := range o.changes[i] {
		if d.after == absent {
			addTo(left, commentsOf(linesOf(before, d.was)))
		}
	}
	for line := range strings.Lines(string(before.Bytes())) {
		if strings.Contains(line, "leader-migration") {
			addTo(left, commentsOf([]byte(line)))
		}
	}
	for comment, n := range commentsOf(before.Bytes()) {
		if left[comment] < n {
			return fmt.Errorf("a comment is lost: %s", comment)
		}
	}
	return nil
}

func TestCorpusManifestsAsTheyAre(t *testing.T) {
	found := readManifests(t)
	run := manifestRun{propertyRun: propertyRun{t: t}}
	var unread refusals
	for _, f := range corpusFiles(t) {
		for _, c := range yamledit.Split(f.name, f.text) {
			if _, err := transform.Parse(c); err != nil && manifests.Distro().Meant(c.Bytes) {
				unread.add(err, "document")
			}
		}
	}
	t.Logf("documents refused on reading:\n%s", unread.report())
	for _, doc := range found {
		run.plan(doc, "manifest")
	}
	t.Logf("real manifests planned: %d of %d; %s", run.planned, run.tried, run.edits())
	t.Logf("real manifests refused:\n%s", run.refused.report())
	if run.mistakes > 0 {
		t.Errorf("%d manifests are refused because an edit went wrong", run.mistakes)
	}
}

func TestCorpusManifestsGraftedOntoAWS(t *testing.T) {
	found, grafted := readManifests(t), map[string]bool{}
	for number, name := range slices.Sorted(maps.Keys(manifestTargets)) {
		run := manifestRun{propertyRun: propertyRun{t: t}, target: manifestTargets[name]}
		for _, doc := range found {
			i := number
			for v := range manifestVariants(doc) {
				if i++; i%manifestsSampled == 0 && run.plan(v.doc, v.name+" "+name) {
					grafted[placeOf(doc)] = true
				}
			}
		}
		t.Logf("%s: variants planned: %d of %d; %s", name, run.planned, run.tried, run.edits())
		t.Logf("%s: variants refused:\n%s", name, run.refused.report())
		if run.mistakes > 0 {
			t.Errorf("%s: %d variants are refused because an edit went wrong", name, run.mistakes)
		}
	}
	t.Logf("manifests grafted onto AWS: %d of %d", len(grafted), len(found))
	if len(grafted) < fewestGraftedManifests {
		t.Errorf("%d manifests can be planned on AWS, fewer than %d", len(grafted), fewestGraftedManifests)
	}
}

// readManifests returns the manifests of a corpus. Braces of templates and other
// placeholders are no reason to leave one out: they get values first.
func readManifests(t *testing.T) []*yamledit.Document {
	t.Helper()
	var found []*yamledit.Document
	for _, f := range corpusFiles(t) {
		for _, c := range yamledit.Split(f.name, f.text) {
			if !manifests.Distro().Words.In(c.Bytes) {
				continue
			}
			if doc, err := transform.Parse(filled(c)); err == nil && manifests.Distro().Owns(doc) {
				found = append(found, doc)
			}
		}
	}
	if !slices.ContainsFunc(found, func(d *yamledit.Document) bool { return d.Root().Get("kind").Exists() }) {
		t.Error("the corpus has no manifest of a manager")
	}
	return found
}

// placeholder is what a template or a script puts values into.
var placeholder = regexp.MustCompile(`\{\{[^{}\n]*\}\}|\{[A-Z0-9_]+\}|__[A-Z0-9_]+__`)

func filled(c yamledit.Chunk) yamledit.Chunk {
	c.Bytes = placeholder.ReplaceAll(c.Bytes, []byte("filled"))
	return c
}
