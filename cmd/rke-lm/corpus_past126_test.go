// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// past126 are releases without the in-tree provider, on both sides of those from which aws
// only names nodes.
var past126 = []string{
	"v1.27.16+rke2r1", "v1.28.15+rke2r1", "v1.29.10+rke2r1", "v1.29.11+rke2r1", "v1.30.6+rke2r1", "v1.30.7+rke2r1",
	"v1.31.2+rke2r1", "v1.31.3+rke2r1", "v1.32.7+rke2r1", "v1.33.3+rke2r1", "v1.34.1+rke2r1",
}

// ends are the choices of a cluster past 1.26.
var ends = []choice{
	{name: "names kept"},
	{name: "external", target: transform.Target{EndState: transform.EndStateExternal}},
	{name: "override", target: transform.Target{EndState: transform.EndStateOverride}},
}

// TestCorpusClustersPast126 plans every variant on one such release and with one choice in
// turn: each plan is applied, undone with the plan, and planned again.
func TestCorpusClustersPast126(t *testing.T) {
	run, done, late := propertyRun{t: t}, 0, map[transform.Situation]int{}
	variants := 0
	for _, doc := range readClusters(t).clusters {
		for v, err := range variantsOf(doc) {
			if err != nil {
				continue // TestCorpusClustersGraftedOntoAWS reports it
			}
			version, end := past126[variants%len(past126)], ends[variants%len(ends)]
			variants++
			// What is chosen when nothing is requested, lab/chart holds to the charts.
			end.target.ImageTag, end.target.ChartVersion = semver.MajorMinor(version)+".1", "0.0.11"
			moved, err := released(v.doc, version)
			if err != nil {
				t.Fatal(placeOf(doc), v.name, err)
			}
			run.plan(moved, v.name+" at "+version, end)
			p, err := plan.Build(rke2.Distro(), transform.Only(moved), end.target)
			if err != nil {
				continue // run counted it
			}
			late[p.Target.Situation]++
			if err := endsWithoutInTree(p); err != nil {
				t.Errorf("%s, %s at %s, %s: %v", placeOf(doc), v.name, version, end.name, err)
			}
			done++
		}
	}
	t.Logf("past 1.26: %d variants, planned, applied and undone: %d of %d (%s), by situation %v; %s", variants, run.planned, run.tried, counts(run.chosen), late, run.edits())
	t.Logf("refused:\n%s", run.refused.report())
	if run.mistakes > 0 {
		t.Errorf("%d variants are refused because an edit went wrong", run.mistakes)
	}
	if late[transform.Broken] == 0 || late[transform.NamesOnly] == 0 || done == 0 {
		t.Errorf("a situation does not occur: %v", late)
	}
}

// released is a document on another release.
func released(doc *yamledit.Document, version string) (*yamledit.Document, error) {
	e := doc.Edit()
	put(e, doc.Root().Get("spec"), "kubernetesVersion", version)
	after, _, err := e.Apply()
	return after, err
}

// endsWithoutInTree holds the result of a plan to what it is for.
func endsWithoutInTree(p *plan.Plan) error {
	last := p.Steps[len(p.Steps)-1].After()
	c, err := rke2.Distro().Lint(last, p.Target)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range c.Findings("") {
		if f.Rule == "in-tree-gone" {
			errs = append(errs, fmt.Errorf("%s", f.Message))
		}
	}
	const flag = "enable-leader-migration"
	if before, after := strings.Count(string(p.Start[0].Bytes()), flag), strings.Count(string(last[0].Bytes()), flag); after > before {
		errs = append(errs, fmt.Errorf("the flag is there %d times, not %d: there is no manager to migrate from", after, before))
	}
	again, err := plan.Build(rke2.Distro(), last, p.Target)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if again.Left() {
		errs = append(errs, errors.New("something is left to do"))
	}
	return errors.Join(errs...)
}
