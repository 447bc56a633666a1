// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// propertyRun plans clusters and holds every plan to what plans promise.
type propertyRun struct {
	t                       *testing.T
	tried, planned, splices int
	mistakes                int            // refusals of a result, not of a cluster
	applied                 map[string]int // stage → how often it edited
	findings                map[string]int // rule → how often it spoke
	chosen                  map[string]int // choice → how often it was planned
	clusters                map[string]bool
	refused                 refusals
	mu                      sync.Mutex
}

func (r *propertyRun) plan(doc *yamledit.Document, name string, c choice) {
	r.t.Helper()
	plan, err := plan.Build(rke2.Distro(), transform.Only(doc), c.target)
	var wrong error
	if err == nil {
		wrong = checkPlan(plan)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried++
	if err != nil {
		r.refused.add(err, name+", "+c.name)
		if isOwnMistake(err) {
			r.mistakes++
		}
		return
	}
	r.planned++
	if r.clusters == nil {
		r.clusters, r.chosen = map[string]bool{}, map[string]int{}
	}
	r.clusters[fmt.Sprint(doc.File(), doc.Chunk().Index)] = true
	r.chosen[c.name]++
	r.count(plan)
	if wrong != nil {
		r.t.Errorf("%s, %s, %s:\n%v", placeOf(doc), name, c.name, wrong)
	}
}

// isOwnMistake reports whether a cluster is refused because an edit went wrong
// and its proof or its stage's check noticed.
func isOwnMistake(err error) bool {
	return strings.Contains(err.Error(), "the result would not be what was promised") || strings.Contains(err.Error(), "cannot be planned: ")
}

func (r *propertyRun) count(plan *plan.Plan) {
	if r.applied == nil {
		r.applied, r.findings = map[string]int{}, map[string]int{}
	}
	for _, s := range plan.Steps {
		r.splices += len(s.Documents[0].Splices)
		if s.Changes() {
			r.applied[s.Stage.Name]++
		}
		for _, f := range s.Findings {
			r.findings[fmt.Sprintf("%s (%s)", f.Rule, f.Severity)]++
		}
	}
}

// edits reports what the run did.
func (r *propertyRun) edits() string {
	sum := 0
	for _, n := range r.applied {
		sum += n
	}
	return fmt.Sprintf("%d edits of %d splices applied (%s); findings: %s", sum, r.splices, counts(r.applied), counts(r.findings))
}

func counts(m map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d × %s", m[key], key))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
