// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// fewestRKE1Clusters is how many files of a corpus must be planned once they are
// on AWS.
const fewestRKE1Clusters = 60

// sampledRKE1 is the share of the variants that is planned, another one of every
// file.
const sampledRKE1 = 9

// readRKE1 returns the documents of a corpus that hold RKE's configuration, or a
// part of one.
func readRKE1(t *testing.T) (clusters, parts []*yamledit.Document, refused refusals) {
	t.Helper()
	for _, f := range corpusFiles(t) {
		if !strings.HasPrefix(f.name, "rke1/") {
			continue
		}
		for _, c := range yamledit.Split(f.name, f.text) {
			switch doc, err := transform.Parse(c); {
			case err != nil:
				refused.add(err, "document")
			case rke1.IsCluster(doc):
				clusters = append(clusters, doc)
			case doc.Root().IsMap():
				parts = append(parts, doc)
			}
		}
	}
	return clusters, parts, refused
}

func TestCorpusRKE1AsItIs(t *testing.T) {
	clusters, parts, refused := readRKE1(t)
	run := rke1Run{propertyRun{t: t}}
	for _, doc := range clusters {
		if !rke1.Distro().Words.In(doc.Bytes()) {
			t.Errorf("%s is a cluster, and a search would pass over it", placeOf(doc))
		}
		run.plan(doc, "cluster")
	}
	t.Logf("real: %d clusters of RKE, %d parts of one, %d documents refused on reading", len(clusters), len(parts), refused.count())
	t.Logf("refused on reading:\n%s", refused.report())
	run.report("real clusters")
}

func TestCorpusRKE1GraftedOntoAWS(t *testing.T) {
	clusters, parts, _ := readRKE1(t)
	run, grafted := rke1Run{propertyRun{t: t}}, 0
	var ungraftable refusals
	all := append(clusters, parts...)
	for number, doc := range all {
		before, i := run.planned, number
		for v, err := range rke1Variants(doc) {
			if err != nil {
				ungraftable.add(err, v.name)
				continue
			}
			if i++; i%sampledRKE1 == 0 {
				run.plan(v.doc, v.name)
			}
		}
		if run.planned > before {
			grafted++
		}
	}
	t.Logf("grafted onto AWS: %d files of RKE of %d", grafted, len(all))
	run.report("variants")
	t.Logf("grafts that yamledit refused:\n%s", ungraftable.report())
	if grafted < fewestRKE1Clusters {
		t.Errorf("%d files can be planned on AWS, fewer than %d", grafted, fewestRKE1Clusters)
	}
}

// A search must not take another distro's document for one of RKE, nor complain
// about one.
func TestCorpusOfOthersHoldsNoRKE1(t *testing.T) {
	for _, f := range corpusFiles(t) {
		if strings.HasPrefix(f.name, "rke1/") || !strings.HasSuffix(f.name, ".yaml") {
			continue
		}
		for _, c := range yamledit.Split(f.name, f.text) {
			if doc, err := transform.Parse(c); err == nil && rke1.IsCluster(doc) {
				t.Errorf("%s is taken for a cluster of RKE", placeOf(doc))
			}
		}
	}
}

// rke1Target is what every cluster of RKE is planned for.
var rke1Target = transform.Target{EndState: transform.EndStateExternal}

// rke1Run is a propertyRun over clusters of RKE.
type rke1Run struct{ propertyRun }

func (r *rke1Run) plan(doc *yamledit.Document, name string) {
	r.t.Helper()
	r.tried++
	plan, err := plan.Build(rke1.Distro(), transform.Only(doc), rke1Target)
	if err != nil {
		r.refused.add(err, name)
		if isOwnMistake(err) {
			r.mistakes++
		}
		return
	}
	r.planned++
	r.count(plan)
	if err := checkRKE1Plan(plan); err != nil {
		r.t.Errorf("%s, %s:\n%v", placeOf(doc), name, err)
	}
}

func (r *rke1Run) report(what string) {
	r.t.Logf("%s planned: %d of %d; %s", what, r.planned, r.tried, r.edits())
	r.t.Logf("%s refused:\n%s", what, r.refused.report())
	if r.mistakes > 0 {
		r.t.Errorf("%d are refused because an edit went wrong", r.mistakes)
	}
}

func checkRKE1Plan(plan *plan.Plan) error {
	o, err := outcomeOf(plan)
	if err != nil {
		return err
	}
	errs := []error{stepsFollowEachOther(o), undoingAllRestores(o), endsExternalAWS(o)}
	for i, s := range o.Steps {
		if !s.Changes() {
			continue
		}
		for _, property := range []func(*outcome, int) error{splicesGoForwardAndBack, againChangesNothing, onlyRKE1Differs, commentsAreKept} {
			if err := property(o, i); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Stage.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// againChangesNothing plans from the bytes after a stage: all up to it is done,
// and the rest ends in the same bytes.
func againChangesNothing(o *outcome, i int) error {
	doc, err := transform.Parse(o.Steps[i].Documents[0].After.Chunk())
	if err != nil {
		return fmt.Errorf("the result does not parse: %w", err)
	}
	again, err := plan.Build(rke1.Distro(), transform.Only(doc), rke1Target)
	if err != nil {
		return fmt.Errorf("the result cannot be planned: %w", err)
	}
	for _, s := range again.Steps[:i+1] {
		if s.Left() {
			return fmt.Errorf("planned again, %s is %s", s.Stage.Name, s.State)
		}
	}
	if string((&outcome{Plan: again}).last().Bytes()) != string(o.last().Bytes()) {
		return errors.New("planned again, the last stage ends in other bytes")
	}
	return nil
}
