// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
)

// patchAll applies to clusters of a Rancher, each by itself. Each has its line at once: nothing
// else shows which objects a run has changed until it was ended.
func (a *applyOptions) patchAll(ctx context.Context, apply run.Apply, results []run.Result[run.Applied], all *report.Collector) (states []run.Left) {
	for _, r := range results {
		if ctx.Err() != nil {
			return states
		}
		err := r.Err
		if made := r.Made; made != nil {
			a.tell(made)
			switch {
			case made.After != nil:
				err = a.patch(ctx, apply, r)
			case made.Outcome != (report.Outcome{}):
				fmt.Fprintln(a.Err, made.Outcome)
			}
		}
		all.Fail(err)
		states = append(states, a.left(r, err, err != nil)...)
	}
	return states
}

// patch applies to the cluster of a Rancher, and prints what became of it.
func (a *applyOptions) patch(ctx context.Context, apply run.Apply, r run.Result[run.Applied]) error {
	p, err := apply.Patch(ctx, r, a.files.DryRun, a.server)
	report.WriteFindings(a.Err, a.ErrPalette, p.Findings, "")
	if p.Diff != "" {
		report.WriteDiff(a.Out, a.Palette, p.Diff)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.Err, "%s: the server warns: %s\n", r.Docs[0].File(), w)
	}
	if err != nil {
		return err
	}
	done := "applied; Rancher now brings it to the machines, one at a time"
	switch {
	case a.server:
		done = "would be applied (server dry run)"
	case a.files.DryRun:
		done = "would be applied"
	}
	fmt.Fprintln(a.Err, r.Made.Outcome, done)
	return nil
}
