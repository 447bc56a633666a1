// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
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
	refused                 refusals
}

func (r *propertyRun) plan(doc *yamledit.Document, name string) {
	r.t.Helper()
	r.tried++
	plan, err := transform.Build(rke2.Distro(), doc, corpusTarget)
	if err != nil {
		r.refused.add(err, name)
		if isOwnMistake(err) {
			r.mistakes++
		}
		return
	}
	r.planned++
	r.count(plan)
	if err := checkPlan(plan); err != nil {
		r.t.Errorf("%s, %s:\n%v", placeOf(doc), name, err)
	}
}

// isOwnMistake reports whether a cluster is refused because an edit went wrong
// and its proof or its stage's check noticed.
func isOwnMistake(err error) bool {
	return strings.Contains(err.Error(), "the result would not be what was promised") || strings.Contains(err.Error(), "cannot be planned: ")
}

func (r *propertyRun) count(plan *transform.Plan) {
	if r.applied == nil {
		r.applied, r.findings = map[string]int{}, map[string]int{}
	}
	for _, s := range plan.Steps {
		r.splices += len(s.Splices)
		if s.Changes() {
			r.applied[s.Stage.Name]++
		}
		for _, f := range s.Findings {
			r.findings[fmt.Sprintf("%s (%s)", f.Rule, f.Severity)]++
		}
	}
}

// edits says what the run did.
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
