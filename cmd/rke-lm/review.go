// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/git"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// reviewOptions are the flags of review, and what it knows of the two versions.
type reviewOptions struct {
	*options
	base, head string

	repo     *git.Repository
	from, to string // commits; to is "" for the working tree
	tip      string // of what the change is merged into
	changes  []git.Change
	all      *collector

	nodes, parsed int64 // the work of the process when it began
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
	result := outputs.Review{APIVersion: outputs.APIVersion, Kind: "Review", Base: r.from, Clusters: []outputs.ReviewedCluster{}, Findings: []transform.Finding{}}
	r.all = r.collect()
	r.nodes, r.parsed = yamledit.Spent()
	err = transform.Guard("the change", func() error {
		err := r.compare(ctx, paths, target, &result)
		return cmp.Or(err, yamledit.CheckRun(r.nodes, r.parsed))
	})
	if err != nil {
		return err
	}
	r.reconfigured(target.Accept, &result)
	for _, f := range result.AllFindings() {
		if f.Stops() {
			r.all.code = max(r.all.code, exitcode.Found)
		}
	}
	result.Errors = r.all.errors
	if err := r.show(result); err != nil {
		return err
	}
	return withCode(r.all.code)
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
func (r *reviewOptions) compare(ctx context.Context, paths []string, t transform.Target, result *outputs.Review) error {
	requested, err := r.requested(paths)
	if err != nil {
		return err
	}
	if r.distro != "" {
		if err := checkOneOf("distro", r.distro, distroNames()...); err != nil {
			return err
		}
	}
	v, err := r.finder().Compare(ctx, r.repo, r.from, r.to, requested)
	if err != nil {
		return err
	}
	r.changes = v.Changes
	defer r.progress.Start(ctx)()
	result.Read.Skipped = v.Skipped
	was, has := r.open(ctx, v.Before), r.open(ctx, v.After)
	before, after := was.sides, has.sides
	result.Read.Before, result.Read.After = was.count, has.count
	for _, err := range was.errs {
		if errors.Is(err, git.ErrUnread) { // what the change does to it is unknown
			r.all.fail(err)
		} else {
			result.Found(review.Unread(err))
		}
	}
	for _, err := range has.errs {
		r.all.fail(err)
	}
	result.Found(review.Forms(was.forms, has.forms, t.Accept)...)
	result.Found(review.Links(v.Links, t.Accept)...)
	if err := r.checkValues(after); err != nil {
		return err
	}
	for _, pattern := range v.Excluded {
		result.Found(r.leftOut(ctx, pattern, v, t.Accept)...)
	}
	pairs := review.Pairs(before, after, v.Earlier)
	places := review.NewPlaces(before, after)
	if len(has.saved) > 0 || slices.ContainsFunc(pairs, review.Pair.Comes) {
		others := clusters.Version{Overlays: v.After.Overlays}
		if others.Sources, err = v.Rest(); err != nil {
			return err
		}
		rest := r.open(ctx, others).sides // what cannot be read is not of this change
		for _, s := range rest {
			places.Add(s)
		}
		if n := len(has.saved); n > 0 {
			v.Skipped["of saved plans"] = n
		}
		result.Found(listedFiles(has.saved, before, slices.Concat(after, rest))...)
	}
	return r.pairs(ctx, pairs, places, v, t, result)
}

// pairs evaluates what changed of each cluster.
func (r *reviewOptions) pairs(ctx context.Context, pairs []review.Pair, places review.Places, v clusters.Versions, t transform.Target, result *outputs.Review) error {
	for i, p := range pairs {
		r.progress.Reached("clusters", i, len(pairs))
		result.Found(append(p.Overlaid(t.Accept), places.Twice(p, t)...)...)
		if p.Patch() {
			continue
		}
		if p.Before != nil {
			p.Away = cmp.Or(v.Away[p.Before.Docs[0].File()], p.Away)
			if p.After == nil && len(r.all.errors) == 0 {
				p.Left = v.After.Text(p.Before.Docs[0].File())
			}
		}
		if p.Before != nil && p.After != nil && p.Away == "" && review.Same(p.Before, p.After) {
			continue
		}
		if err := yamledit.CheckRun(r.nodes, r.parsed); err != nil {
			return err
		}
		c, err := r.evaluate(p, t)
		if err != nil {
			r.all.fail(err)
			continue
		}
		if c.Kind == review.Unchanged {
			continue
		}
		result.Clusters = append(result.Clusters, outputs.NewReviewed(c, movedFrom(p)))
	}
	return ctx.Err()
}

// checkValues requires a cluster for a values file that the change touches: it alone shows
// nothing.
func (r *reviewOptions) checkValues(after []*review.Side) error {
	at, inside := r.repo.Path(r.values)
	is := func(c git.Change) bool {
		return c.Before != nil && c.Before.Path == at || c.After != nil && c.After.Path == at
	}
	if r.values == "" || !inside || len(after) > 0 || r.all.code != exitcode.Done || !slices.ContainsFunc(r.changes, is) {
		return nil
	}
	return fmt.Errorf("--%s: %s has changed, and no cluster is in its folder or in the change; name the cluster's file as a PATH", ccmValues, r.values)
}

// evaluate keeps one cluster from ending the review of others.
func (r *reviewOptions) evaluate(p review.Pair, t transform.Target) (c review.Change, err error) {
	side := p.After
	if side == nil {
		side = p.Before
	}
	err = transform.Guard(side.Docs[0].File(), func() error {
		c = review.Evaluate(p, t)
		return nil
	})
	return c, err
}

// movedFrom is the file of a cluster before it moved.
func movedFrom(p review.Pair) string {
	if p.Before == nil || p.After == nil || p.Before.Docs[0].File() == p.After.Docs[0].File() {
		return ""
	}
	return p.Before.Docs[0].File()
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

func (r *reviewOptions) show(result outputs.Review) error {
	switch {
	case r.reports():
		found := newResults("review")
		found.Findings, found.Errors, found.Read = result.Findings, result.Errors, result.Read.Line()
		for _, c := range result.Clusters {
			found.Keep(c.Subject())
		}
		return r.writeResults(found, outputs.ReviewTable)
	case r.output != "text":
		return r.dump(result)
	}
	b := bufio.NewWriter(r.out)
	for _, c := range result.Clusters {
		outputs.WriteReview(b, r.palette(r.out), c)
	}
	outputs.WriteFindings(b, r.palette(r.out), result.Findings, "")
	if err := b.Flush(); err != nil {
		return err
	}
	count := map[transform.Severity]int{}
	for _, f := range result.AllFindings() {
		if !f.Accepted {
			count[f.Severity]++
		}
	}
	fmt.Fprintln(r.err, result.Read.Line())
	fmt.Fprintf(r.err, "clusters changed: %d; errors: %d, warnings: %d, notes: %d\n", len(result.Clusters), count[transform.Error], count[transform.Warning], count[transform.Note])
	return nil
}
