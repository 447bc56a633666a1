// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// corpusKind is what the tests of a corpus know of the documents of one format: how to find them, how to put them on AWS,
// what to choose, and what each stage promises.
type corpusKind struct {
	format     transform.Format
	in         func(yamledit.Chunk) bool           // whether the chunk could be one
	filled     func(yamledit.Chunk) yamledit.Chunk // with values in place of placeholders; nil for as it is
	isPart     func(*yamledit.Document) bool       // of what is no cluster: whether it is a part of one
	graftParts bool

	at       func(*yamledit.Document) yamledit.Node // where the edits of grafts start
	first    []graftEdit                            // of each graft
	grafts   []graft
	layouts  []layout
	turns    [][]choice // every variant is planned with one of each, in turn
	sampled  int        // the share of the variants that is planned, another one of every document
	fewest   int        // documents that must be planned once they are on AWS
	occur    []transform.Situation
	promises map[string]func(*outcome, difference) error // by stage, or "" for all
	end      func(*outcome) error                        // of all stages; nil for none
}

// choice is what an operator may want of a plan, of a cluster that is moved to a release.
type choice struct {
	name    string
	target  transform.Target
	release string
}

// kindFound is what a corpus holds of a kind.
type kindFound struct {
	clusters, parts []*yamledit.Document
	refused         refusals // what could be one of the two and does not parse
}

func (k corpusKind) read(t *testing.T) *kindFound {
	t.Helper()
	found := &kindFound{}
	for _, f := range corpusFiles(t) {
		for _, c := range yamledit.Split(f.name, f.text) {
			if !k.in(c) {
				continue
			}
			if k.filled != nil {
				c = k.filled(c)
			}
			switch doc, err := transform.Parse(c); {
			case err != nil:
				found.refused.add(err, "document")
			case k.format.Owns(doc):
				found.clusters = append(found.clusters, doc)
			case k.isPart(doc):
				found.parts = append(found.parts, doc)
			}
		}
	}
	return found
}

// corpusRun plans documents of a kind and holds every plan to what plans promise.
type corpusRun struct {
	t                       *testing.T
	kind                    corpusKind
	tried, planned, splices int
	mistakes                int            // refusals of a result, not of a cluster
	applied                 map[string]int // stage → how often it edited
	situations              map[transform.Situation]int
	documents               map[string]bool // that were planned
	refused                 refusals
	mu                      sync.Mutex
}

func newCorpusRun(t *testing.T, k corpusKind) *corpusRun {
	return &corpusRun{t: t, kind: k, applied: map[string]int{}, situations: map[transform.Situation]int{}, documents: map[string]bool{}}
}

// inTurn plans a document with one of each turn's choices.
func (r *corpusRun) inTurn(doc *yamledit.Document, name string, number int) {
	for _, turn := range r.kind.turns {
		r.plan(doc, name, turn[number%len(turn)])
	}
}

func (r *corpusRun) plan(doc *yamledit.Document, name string, c choice) {
	r.t.Helper()
	plan, err := r.kind.planned(doc, c)
	var wrong []error
	if err == nil {
		var o *outcome
		if o, err = r.kind.outcomeOf(plan, c.release); err == nil {
			wrong = o.check()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried++
	if err != nil {
		r.refused.add(err, name+", "+c.name)
		if text := err.Error(); strings.Contains(text, "the result would not be what was promised") || strings.Contains(text, "cannot be planned: ") { // its proof or its stage's check noticed
			r.mistakes++
		}
		return
	}
	r.planned++
	r.documents[fmt.Sprint(doc.File(), doc.Chunk().Index)] = true
	r.situations[plan.Target.Situation]++
	for _, s := range plan.Steps {
		r.splices += len(s.Documents[0].Splices)
		if s.Changes() {
			r.applied[s.Stage.Name]++
		}
	}
	for _, err := range wrong {
		assert.Truef(r.t, err == nil, "%s, %s, %s:\n%v", placeOf(doc), name, c.name, err)
	}
}

// planned returns the plan of a document, which is moved to the release of the choice first.
func (k corpusKind) planned(doc *yamledit.Document, c choice) (*plan.Plan, error) {
	if c.release != "" {
		e := doc.Edit()
		put(e, doc.Root().Get("spec"), "kubernetesVersion", c.release)
		var err error
		if doc, _, err = e.Apply(); err != nil {
			return nil, err
		}
	}
	return plan.Build(k.format, transform.Only(doc), c.target)
}

// report reports what the run did, and fails for refusals of its own results.
func (r *corpusRun) report(what string) {
	r.t.Logf("%s: planned: %d of %d, by situation %v; %d splices applied: %v", what, r.planned, r.tried, r.situations, r.splices, r.applied)
	r.t.Logf("%s refused:\n%s", what, r.refused.report())
	assert.Truef(r.t, r.mistakes <= 0, "%d are refused because an edit went wrong", r.mistakes)
}

// onAllCores runs jobs that it is given.
func onAllCores(give func(do func(job func()))) {
	jobs := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	give(func(job func()) { jobs <- job })
	close(jobs)
	workers.Wait()
}
