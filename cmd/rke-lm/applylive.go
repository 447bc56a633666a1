// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/admission"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// runLive applies to clusters of a Rancher, each by itself.
func (a *applyOptions) runLive(ctx context.Context) error {
	if err := a.saved.read(); err != nil {
		return err
	}
	code, err := a.eachCluster(ctx, nil, func(f found, t transform.Target) (func() error, error) {
		var said bytes.Buffer
		after, note, err := a.next(f, t, &said)
		return func() error {
			a.err.Write(said.Bytes())
			if after == nil {
				return nil
			}
			return a.patch(ctx, f, t, after, note)
		}, err
	}, func(error) {})
	if err != nil {
		return err
	}
	if code == exitDone {
		if err := a.saved.unused(); err != nil {
			return err
		}
	}
	return withCode(code)
}

// patch brings the object of a cluster to another version, if nothing speaks
// against it.
func (a *applyOptions) patch(ctx context.Context, f found, t transform.Target, after *yamledit.Document, note string) error {
	if err := f.live.review(ctx, "apply", t); err != nil {
		return err
	}
	findings, err := f.live.judge(ctx, f, t)
	if err != nil {
		return err
	}
	if err := admission.Check(f.doc.File(), findings); err != nil {
		return err
	}
	outputs.WriteFindings(a.err, a.palette(a.err), findings, "") // what was acknowledged
	p, err := jsonpatch.Diff(f.doc.Bytes(), after.Bytes())
	if err != nil {
		return fmt.Errorf("%s: %w", f.doc.File(), err)
	}
	if a.dryRun {
		outputs.WriteDiff(a.out, a.palette(a.out), outputs.Diff(f.doc, after))
	}
	if a.dryRun && !a.server {
		fmt.Fprintln(a.err, note, "would be applied")
		return nil
	}
	_, warnings, err := f.live.server.Patch(ctx, f.live.object, p, a.server)
	for _, w := range warnings {
		fmt.Fprintf(a.err, "%s: the server warns: %s\n", f.doc.File(), w)
	}
	if err != nil {
		return err
	}
	if a.server {
		fmt.Fprintln(a.err, note, "would be applied; the server has checked it and kept nothing")
		return nil
	}
	fmt.Fprintln(a.err, note, "applied; Rancher now brings it to the machines, one after the other")
	return nil
}
