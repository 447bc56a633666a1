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

func newReview(o *options) *cobra.Command {
	var work run.Review
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
		RunE:        func(c *cobra.Command, args []string) error { return o.review(c, work, args) },
	}
	o.inputFlags(c.Flags())
	o.valuesFlag(c.Flags(), valuesInFiles)
	o.excludeFlag(c.Flags())
	o.targetFlags(c.Flags())
	o.outputFlag(c, everyOutputFormat...)
	c.Flags().StringVar(&work.Base, "base", "", "compare with the commit at which the change parted from this branch, tag or commit")
	c.Flags().StringVar(&work.Head, "head", "", "commit with the change (default: the working tree)")
	return c
}

func (o *options) review(c *cobra.Command, work run.Review, paths []string) error {
	if work.Base == "" {
		return errors.New("--base is not set; set it to the branch into which the change is merged, such as origin/main")
	}
	work.Paths, work.Config, work.Kinds = paths, o.config, choiceKinds()
	work.Choose = func(file string, settings []review.Setting) (run.Options, bool, error) {
		err := o.choose(c.Flags(), file, settings)
		return o.Options, o.configured["exclude"], err
	}
	reviewed, err := work.Run(c.Context())
	all := o.collect("review")
	for _, err := range reviewed.Errs {
		all.Fail(err)
	}
	if err != nil {
		return err
	}
	all.WriteReview(reviewed.Result)
	return withCode(all.Code)
}

// choose sets the flags from the settings that count.
func (o *options) choose(flags *pflag.FlagSet, file string, settings []review.Setting) (err error) {
	if file != "" {
		err = o.apply(flags, file, settings)
	}
	return cmp.Or(err, o.leaveOut(), o.CheckFormat(), o.Check())
}
