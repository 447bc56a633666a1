// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
)

func newPlan(o *options) *cobra.Command {
	var stage string
	var code bool
	c := &cobra.Command{
		Use:   "plan PATH...",
		Short: "Show the stages of clusters: what is done, what is to do, why, and the diff of each edit",
		Example: `  rke-lm plan examples/docs-like.yaml
  rke-lm plan --stage enable-leader-migration clusters/
  kubectl get clusters.provisioning.cattle.io -n fleet-default harbour -o yaml | rke-lm plan -`,
		RunE: func(c *cobra.Command, args []string) error {
			return o.plan(c.Context(), args, stage, code)
		},
	}
	o.inputFlags(c.Flags())
	o.targetFlags(c.Flags())
	o.outputFlag(c, "text", "json")
	c.Flags().StringVar(&stage, "stage", "", "show this stage only")
	c.Flags().BoolVar(&code, "exit-code", false, "exit with 1 when edits are left to do")
	complete(c, "stage", transform.StageNames())
	return c
}

func (o *options) plan(ctx context.Context, paths []string, stage string, exitWithLeft bool) error {
	if err := checkOneOf("output", o.output, "text", "json"); err != nil {
		return err
	}
	if stage != "" {
		if err := checkOneOf("stage", stage, transform.StageNames()...); err != nil {
			return err
		}
	}
	result := outputs.Plans{APIVersion: outputs.APIVersion, Kind: "Plan", Clusters: []outputs.Plan{}, Errors: []outputs.Problem{}}
	left := false
	code, err := o.eachCluster(ctx, paths, func(f found, t transform.Target) error {
		p, err := transform.Build(f.distro, f.doc, t)
		if err != nil {
			return err
		}
		left = left || p.Left()
		plan := outputs.NewPlan(p, stage)
		if o.output == "text" {
			outputs.WritePlan(o.out, o.palette(o.out), plan)
		} else {
			result.Clusters = append(result.Clusters, plan)
		}
		return nil
	}, func(err error) { result.Errors = append(result.Errors, problem(err)) })
	if err != nil {
		return err
	}
	if o.output == "json" {
		if err := outputs.WriteJSON(o.out, result); err != nil {
			return err
		}
	}
	if code == exitDone && exitWithLeft && left {
		code = exitFound
	}
	return withCode(code)
}

// eachCluster calls do for every cluster in the paths. An error of one is
// printed and noted, and the others go on; the highest code wins.
func (o *options) eachCluster(ctx context.Context, paths []string, do func(found, transform.Target) error, note func(error)) (int, error) {
	target, err := o.target()
	if err != nil {
		return 0, err
	}
	code := exitDone
	failed := func(err error) {
		fmt.Fprintln(o.err, "error:", err)
		note(err)
		code = max(code, exitCode(err))
	}
	ins, err := o.inputs(ctx, paths)
	if err != nil {
		failed(err)
	}
	for _, in := range ins {
		for _, err := range in.errs {
			failed(err)
		}
		for _, f := range in.clusters {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			if err := do(f, target); err != nil {
				failed(err)
			}
		}
	}
	return code, nil
}
