// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/atomicfile"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	*options
	stage    string
	next     bool
	through  bool
	dryRun   bool
	toStdout bool
	stdin    bytes.Buffer // what was read from standard input, to write it again
}

func newApply(o *options) *cobra.Command {
	a := &applyOptions{options: o}
	c := &cobra.Command{
		Use:   "apply (--stage STAGE | --next) PATH...",
		Short: "Write files as they stand after a stage",
		Long: `Write files as they stand after a stage: in place and atomically, or to standard
output with --stdout, or as a diff with --dry-run. A file is written as a whole
or not at all. Nothing but the stage's edits changes, byte for byte.`,
		Example: `  rke-lm apply --next clusters/harbour.yaml
  rke-lm apply --stage switch-to-external --through --end-state external --dry-run clusters/
  rke-lm apply --next - < cluster.yaml > next.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
	}
	o.inputFlags(c.Flags())
	o.targetFlags(c.Flags())
	c.Flags().StringVar(&a.stage, "stage", "", "the stage to apply")
	c.Flags().BoolVar(&a.next, "next", false, "apply the first stage that is not done")
	c.Flags().BoolVar(&a.through, "through", false, "apply the stages before --stage as well")
	c.Flags().BoolVar(&a.dryRun, "dry-run", false, "print the diff and write nothing")
	c.Flags().BoolVar(&a.toStdout, "stdout", false, "print the file instead of writing it")
	complete(c, "stage", transform.StageNames())
	c.MarkFlagsMutuallyExclusive("stage", "next")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
	c.MarkFlagsOneRequired("stage", "next")
	return c
}

func (a *applyOptions) run(ctx context.Context, paths []string) error {
	if a.stage != "" {
		if err := checkOneOf("stage", a.stage, transform.StageNames()...); err != nil {
			return err
		}
	}
	if a.through && a.next {
		return errors.New("--through goes with --stage, not with --next")
	}
	target, err := a.target()
	if err != nil {
		return err
	}
	if slices.Contains(paths, "-") {
		a.in = io.TeeReader(a.in, &a.stdin)
	}
	code := exitDone
	fail := func(err error) {
		fmt.Fprintln(a.err, "error:", err)
		code = max(code, exitCode(err))
	}
	ins, err := a.inputs(ctx, paths)
	if err != nil {
		fail(err)
	}
	for _, in := range ins {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, err := range a.file(in, target) {
			fail(err)
		}
	}
	return withCode(code)
}

// file applies the stage to all clusters of a file, or to none.
func (a *applyOptions) file(in input, t transform.Target) []error {
	errs := in.errs
	var parts []atomicfile.Part
	for _, f := range in.clusters {
		part, err := a.cluster(f, t)
		switch {
		case err != nil:
			errs = append(errs, err)
		case part != nil:
			parts = append(parts, *part)
		}
	}
	if len(errs) > 0 {
		if len(parts) > 0 {
			fmt.Fprintf(a.err, "%s: not written, because of the errors in it\n", in.source.Name)
		}
		return errs
	}
	if err := a.write(in, parts); err != nil {
		return []error{err}
	}
	return nil
}

// cluster returns the part of the file that the stage changes, or nil.
func (a *applyOptions) cluster(f found, t transform.Target) (*atomicfile.Part, error) {
	p, err := transform.Build(f.distro, f.doc, t)
	if err != nil {
		return nil, err
	}
	steps, err := a.choose(p)
	if err != nil {
		return nil, err
	}
	name := p.Cluster.Namespace + "/" + p.Cluster.Name
	if len(steps) == 0 {
		fmt.Fprintf(a.err, "%s: %s: nothing to do\n", f.doc.File(), name)
		return nil, nil
	}
	for _, s := range steps {
		outputs.WriteFindings(a.err, a.palette(a.err), s.Findings, "")
		if s.State == transform.Blocked {
			return nil, &failure{code: exitFound, err: fmt.Errorf("%s: %s: stage %s is blocked by the errors above; correct them, or acknowledge them with --accept", f.doc.File(), name, s.Stage.Name)}
		}
		fmt.Fprintf(a.err, "%s: %s: %s\n", f.doc.File(), name, s.Stage.Name)
	}
	after := steps[len(steps)-1].After
	if a.dryRun {
		outputs.WriteDiff(a.out, a.palette(a.out), outputs.Diff(p.Start, after))
	}
	chunk := f.doc.Chunk()
	return &atomicfile.Part{Offset: int64(chunk.Offset), Length: int64(len(chunk.Bytes)), New: after.Bytes()}, nil
}

// choose returns the steps to apply, in their order.
func (a *applyOptions) choose(p *transform.Plan) ([]transform.Step, error) {
	var left []transform.Step
	for _, s := range p.Steps {
		wanted := a.next || s.Stage.Name == a.stage
		if s.State != transform.Done {
			left = append(left, s)
		}
		if !wanted || a.next && s.State == transform.Done {
			continue
		}
		if s.State == transform.Done && !a.through {
			return nil, nil
		}
		if len(left) > 1 && !a.through {
			return nil, &failure{code: exitRefused, err: fmt.Errorf("%s: %s comes before %s and is not done; apply it first, or add --through", p.Start.File(), left[0].Stage.Name, a.stage)}
		}
		return left, nil
	}
	return nil, nil
}

// write puts the changed parts where the operator wants them.
func (a *applyOptions) write(in input, parts []atomicfile.Part) error {
	switch {
	case a.dryRun:
		return nil
	case !in.source.IsFile():
		return atomicfile.Splice(a.out, bytes.NewReader(a.stdin.Bytes()), int64(a.stdin.Len()), parts)
	case !a.toStdout && len(parts) == 0:
		return nil
	}
	f, err := os.Open(in.source.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	splice := func(w io.Writer) error { return atomicfile.Splice(w, f, in.stats.Info.Size(), parts) }
	if a.toStdout {
		return splice(a.out)
	}
	return atomicfile.Replace(in.source.Path, atomicfile.See(in.stats.Info), splice)
}
