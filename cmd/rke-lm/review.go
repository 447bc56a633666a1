// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// reviewOptions are the flags of review, and what it knows of the two versions.
type reviewOptions struct {
	*options
	base, head string

	repo     *git.Repository
	from, to string // commits; to is "" for the working tree
	tip      string // of what the change is merged into
	changes  []git.Change
	all      *report.Collector
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
	c.Flags().StringVar(&r.base, "base", "", "compare with the commit at which the change parted from this branch, tag or commit")
	c.Flags().StringVar(&r.head, "head", "", "commit with the change (default: the working tree)")
	return c
}

func (r *reviewOptions) run(c *cobra.Command, paths []string) error {
	ctx := c.Context()
	if r.base == "" {
		return errors.New("--base is not set; set it to the branch into which the change is merged, such as origin/main")
	}
	var err error
	if r.repo, err = git.Open(ctx, "."); err != nil {
		return err
	}
	defer r.repo.Close()
	if err := r.commits(ctx); err != nil {
		return err
	}
	if err := r.choose(c); err != nil {
		return err
	}
	if err := r.leaveOut(); err != nil {
		return err
	}
	target, err := r.target()
	if err != nil {
		return err
	}
	reviewed, err := r.compare(ctx, paths, target)
	r.all = r.collect()
	for _, err := range reviewed.Errs {
		r.all.Fail(err)
	}
	if err != nil {
		return err
	}
	result := reviewed.Result
	r.changes = reviewed.Changes
	r.reconfigured(target.Accept, &result)
	for _, f := range result.AllFindings() {
		if f.Stops() {
			r.all.Code = max(r.all.Code, exitcode.Found)
		}
	}
	result.Errors = r.all.Errors
	if err := r.show(result); err != nil {
		return err
	}
	return withCode(r.all.Code)
}

// commits finds the two versions.
func (r *reviewOptions) commits(ctx context.Context) (err error) {
	if r.tip, err = r.repo.Commit(ctx, r.base); err != nil {
		return err
	}
	head := "HEAD"
	if r.head != "" {
		head = r.head
	}
	change, err := r.repo.Commit(ctx, head)
	if err != nil {
		return err
	}
	if r.head != "" {
		r.to = change
	}
	r.from, err = r.repo.MergeBase(ctx, r.tip, change)
	return err
}

// compare reviews every cluster of the files that differ.
func (r *reviewOptions) compare(ctx context.Context, paths []string, t transform.Target) (run.Reviewed, error) {
	requested, err := r.requested(paths)
	if err != nil {
		return run.Reviewed{}, err
	}
	if r.distro != "" {
		if err := run.CheckOneOf("distro", r.distro, distroNames()...); err != nil {
			return run.Reviewed{}, err
		}
	}
	return run.Review{
		Options: run.Options{Finder: r.finder(), Target: t, Progress: r.progress},
		Repo:    r.repo, From: r.from, To: r.to, Paths: requested, Excluding: r.configured["exclude"],
	}.Run(ctx)
}

// requested returns the paths in the repository.
func (r *reviewOptions) requested(paths []string) (clusters.Requested, error) {
	var roots clusters.Requested
	for _, p := range paths {
		root, inside := r.repo.Path(p)
		if !inside {
			return nil, fmt.Errorf("%s: not in this repository; run review in the repository of the clusters", p)
		}
		roots = append(roots, root)
	}
	return roots, nil
}

func (r *reviewOptions) show(result report.Review) error {
	switch {
	case r.Reports():
		found := newResults("review")
		found.Findings, found.Errors, found.Read = result.Findings, result.Errors, result.Read.Line()
		for _, c := range result.Clusters {
			found.Keep(c.Subject())
		}
		return r.WriteResults(found, report.ReviewTable)
	case r.Format != "text":
		return r.Dump(result)
	}
	b := bufio.NewWriter(r.Out)
	for _, c := range result.Clusters {
		report.WriteReview(b, r.Palette, c)
	}
	report.WriteFindings(b, r.Palette, result.Findings, "")
	if err := b.Flush(); err != nil {
		return err
	}
	count := map[transform.Severity]int{}
	for _, f := range result.AllFindings() {
		if !f.Accepted {
			count[f.Severity]++
		}
	}
	fmt.Fprintln(r.Err, result.Read.Line())
	fmt.Fprintf(r.Err, "clusters changed: %d; errors: %d, warnings: %d, notes: %d\n", len(result.Clusters), count[transform.Error], count[transform.Warning], count[transform.Note])
	return nil
}
