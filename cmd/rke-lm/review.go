// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/review"
)

// reviewOptions are the flags of review.
type reviewOptions struct {
	*options
	work run.Review
}

func newReview(o *options) *cobra.Command {
	r := &reviewOptions{options: o}
	c := &cobra.Command{
		Use:   "review --base REF [PATH...]",
		Short: "Show what a change in git does to clusters",
		Long: `Compare the working tree, or the commit of --head, with the commit at which it parted from
REF, and show for each cluster the stages that the change performs, and the effective
configuration of each machine class before and after. An error makes the exit code 1.

.rke-lm.yaml is that of REF. Its acceptances count if the commit at which the change parted
has them as well: a change cannot accept its own errors. Nothing is checked out or written.`,
		Example: `  rke-lm review --base origin/main
  rke-lm review --base origin/main --head FETCH_HEAD clusters/`,
		Annotations: map[string]string{configFromBase: ""},
		RunE:        func(c *cobra.Command, args []string) error { return r.run(c, args) },
	}
	o.inputFlags(c.Flags())
	o.valuesFlag(c.Flags(), valuesInFiles)
	o.excludeFlag(c.Flags())
	o.targetFlags(c.Flags())
	o.outputFlag(c, everyFormat...)
	c.Flags().StringVar(&r.work.Base, "base", "", "compare with the commit at which the change parted from this branch, tag or commit")
	c.Flags().StringVar(&r.work.Head, "head", "", "commit with the change (default: the working tree)")
	return c
}

func (r *reviewOptions) run(c *cobra.Command, paths []string) error {
	if r.work.Base == "" {
		return errors.New("--base is not set; set it to the branch into which the change is merged, such as origin/main")
	}
	r.work.Paths, r.work.Config, r.work.Kinds = paths, r.config, choiceKinds()
	r.work.Choose = func(file string, settings []review.Setting) (run.Options, bool, error) {
		o, err := r.choose(c.Flags(), file, settings)
		return o, r.configured["exclude"], err
	}
	reviewed, err := r.work.Run(c.Context())
	all := r.collect("review")
	for _, err := range reviewed.Errs {
		all.Fail(err)
	}
	if err != nil {
		return err
	}
	if err := all.WriteReview(reviewed.Result); err != nil {
		return err
	}
	return withCode(all.Code)
}

// choose sets the flags from the settings that count.
func (r *reviewOptions) choose(flags *pflag.FlagSet, file string, settings []review.Setting) (o run.Options, err error) {
	if file != "" {
		err = r.apply(flags, file, settings)
	}
	if err = cmp.Or(err, r.leaveOut()); err != nil {
		return o, err
	}
	err = cmp.Or(r.CheckDistro(), r.Check())
	return r.Options, err
}
