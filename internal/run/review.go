// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Review compares the clusters of two versions in git.
type Review struct {
	Base, Head string // of the change; "" of Head is the working tree
	Paths      []string
	Config     string // a file, in place of those of the base; "" for none
	Kinds      map[string]config.Kind
	// Choose makes the choices of the settings that count, by their file, "" for none; excluding means that the patterns
	// of what is left out are among them.
	Choose func(file string, settings []review.Setting) (o Options, excluding bool, err error)
}

// Reviewed is what a change does to clusters.
type Reviewed struct {
	Result report.Review
	Errs   []error // of clusters, in the order in which they were met
}

// reviewing is a review while it runs.
type reviewing struct {
	Review
	Options
	Reviewed

	repo          *git.Repository
	from, to, tip string   // commits: where the change parted, of the change or "", and of what it is merged into
	base          git.Tree // of from
	excluding     bool
	requested     clusters.Requested
	changes       []git.Change
}

// Run compares them, as far as the budget of a run lasts.
func (o Review) Run(ctx context.Context) (Reviewed, error) {
	repo, err := git.Open(ctx, ".")
	if err != nil {
		return Reviewed{}, err
	}
	defer repo.Close()
	r := &reviewing{Review: o, repo: repo}
	if err := r.begin(ctx); err != nil {
		return r.Reviewed, err
	}
	r.Result = report.Review{TypeMeta: report.Type("Review"), Base: r.from, Clusters: []report.ReviewedCluster{}, Findings: []transform.Finding{}}
	defer r.Progress.Start(ctx).End()
	r.Nodes, r.Parsed = yamledit.Spent()
	err = transform.Guard("the change", func() error {
		err := r.compare(ctx)
		return cmp.Or(err, yamledit.CheckRun(r.Nodes, r.Parsed))
	})
	if err == nil {
		r.reconfigured()
	}
	return r.Reviewed, err
}

// begin finds the two versions, and the choices.
func (r *reviewing) begin(ctx context.Context) (err error) {
	if r.tip, err = r.repo.Commit(r.Base); err != nil {
		return err
	}
	change, err := r.repo.Commit(cmp.Or(r.Head, "HEAD"))
	if err != nil {
		return err
	}
	if r.Head != "" {
		r.to = change
	}
	if r.from, err = r.repo.MergeBase(ctx, r.tip, change); err != nil {
		return err
	}
	if r.base, err = r.repo.Tree(ctx, r.from); err != nil {
		return err
	}
	settings, name, err := r.configured(ctx)
	if err != nil {
		return err
	}
	if r.Options, r.excluding, err = r.Choose(name, settings); err != nil {
		return err
	}
	for _, p := range r.Paths {
		root, inside := r.repo.Path(p)
		if !inside {
			return fmt.Errorf("%s: not in this repository; run review in the repository of the clusters", p)
		}
		r.requested = append(r.requested, root)
	}
	return nil
}

// compare reviews every cluster of the files that differ.
func (r *reviewing) compare(ctx context.Context) error {
	t, result := r.Target, &r.Result
	v, err := r.Finder.Compare(ctx, r.repo, r.from, r.to, r.base, r.requested)
	if err != nil {
		return err
	}
	r.changes = v.Changes
	result.Read.Skipped = v.Skipped
	was, has := r.open(ctx, v.Before), r.open(ctx, v.After)
	before, after := was.sides, has.sides
	result.Read.Before, result.Read.After = was.count, has.count
	for _, err := range was.errs {
		if errors.Is(err, git.ErrUnread) { // what the change does to it is unknown
			r.Errs = append(r.Errs, err)
		} else {
			result.Found(review.Unread(err))
		}
	}
	r.Errs = append(r.Errs, has.errs...)
	result.Found(review.Forms(was.forms, has.forms, t.Accept)...)
	result.Found(review.Links(v.Links, t.Accept)...)
	if err := r.checkValues(after); err != nil {
		return err
	}
	for _, pattern := range lists.Keys(v.Before.Excluded, v.After.Excluded) {
		result.Found(r.leftOut(ctx, pattern, v, t.Accept)...)
	}
	pairs := review.Pairs(before, after, v.Earlier)
	var rest []*review.Side // of files that do not change
	if len(has.saved) > 0 || slices.ContainsFunc(pairs, review.Pair.Comes) {
		rest = r.open(ctx, clusters.Version{Sources: v.Rest(), Overlays: v.After.Overlays}).sides // what cannot be read is not of this change
		if n := len(has.saved); n > 0 {
			v.Skipped["of saved plans"] = n
		}
		unplanned := unplannedFiles(has.saved, before, slices.Concat(after, rest))
		result.Found(lists.Flat(unplanned, func(s *clusters.Saved) []transform.Finding { return review.Listed(s.Name, s.Plan.Cluster) })...)
		pairs = slices.DeleteFunc(pairs, func(p review.Pair) bool { return p.After == nil && hides(unplanned, p.Before) }) // the finding is about it
	}
	return r.pairs(ctx, pairs, review.NewPlaces(before, after, rest), v)
}

// pairs evaluates what changed of each cluster.
func (r *reviewing) pairs(ctx context.Context, pairs []review.Pair, places review.Places, v *clusters.Comparison) error {
	t, result := r.Target, &r.Result
	for i, p := range pairs {
		r.Progress.Reached("clusters", i, len(pairs))
		result.Found(append(p.Overlaid(t.Accept), places.Twice(p, t)...)...)
		if p.Patch() {
			continue
		}
		if p.Before != nil {
			p.Away = cmp.Or(v.Away[p.Before.Docs[0].File()], p.Away)
			if p.After == nil && len(r.Errs) == 0 {
				p.Left = v.After.Text(p.Before.Docs[0].File())
			}
		}
		if p.Before != nil && p.After != nil && p.Away == "" && review.Same(p.Before, p.After) {
			continue
		}
		if err := yamledit.CheckRun(r.Nodes, r.Parsed); err != nil {
			return err
		}
		var c review.Change
		side := cmp.Or(p.After, p.Before)
		err := transform.Guard(side.Docs[0].File(), func() error { c = review.Evaluate(p, t); return nil }) // one ends no other
		if err != nil {
			r.Errs = append(r.Errs, err)
			continue
		}
		if c.Kind == review.Unchanged {
			continue
		}
		was := "" // the file before the cluster moved
		if p.Before != nil && p.After != nil && p.Before.Docs[0].File() != p.After.Docs[0].File() {
			was = p.Before.Docs[0].File()
		}
		result.Clusters = append(result.Clusters, report.NewReviewed(c, was))
	}
	return ctx.Err()
}

// checkValues requires a cluster for a values file that the change touches: it alone shows
// nothing.
func (r *reviewing) checkValues(after []*review.Side) error {
	at, inside := r.repo.Path(r.Finder.Values)
	is := func(c git.Change) bool {
		return c.Before != nil && c.Before.Path == at || c.After != nil && c.After.Path == at
	}
	if r.Finder.Values == "" || !inside || len(after) > 0 || len(r.Errs) > 0 || !slices.ContainsFunc(r.changes, is) {
		return nil
	}
	return fmt.Errorf("--%s: %s has changed, and no cluster is in its folder or in the change; name the cluster's file as a PATH", CCMValues, r.Finder.Values)
}

// opened is what was read before the change, or after it.
type opened struct {
	sides []*review.Side
	forms []forms.Found // that are not read
	saved []*clusters.Saved
	errs  []error
	count report.Counted
}

// open opens the clusters of one version.
func (r *reviewing) open(ctx context.Context, of clusters.Version) (v opened) {
	f := r.Finder
	f.Overlays = of.Overlays
	found := f.From(ctx, of.Sources, false)
	v.saved, v.count = found.Saved, report.Counted{Files: len(of.Sources), Documents: found.Documents}
	for _, result := range found.Results {
		switch c := result.Cluster; {
		case result.Err != nil:
			v.errs = append(v.errs, result.Err)
		case result.Docs != nil:
			v.sides = append(v.sides, &review.Side{Format: c.Format, Docs: c.Docs, Related: c.Related, Patch: c.Patch, Uses: c.Uses, Unnamed: c.Sources[0].Named})
		case result.Form.File != "":
			v.forms = append(v.forms, result.Form)
		}
	}
	return v
}

// leftOut reports the changed files that a pattern leaves out, with the clusters that change in them.
func (r *reviewing) leftOut(ctx context.Context, pattern string, v *clusters.Comparison, accept []string) []transform.Finding {
	hidden, files := map[string]bool{}, map[string]bool{}
	var sides [2][]*review.Side
	for i, version := range []clusters.Version{v.Before, v.After} {
		version.Sources = version.Excluded[pattern]
		read := r.open(ctx, version)
		if sides[i] = read.sides; len(read.errs) > 0 {
			hidden["documents that cannot be read"] = true
		}
		for _, s := range version.Sources {
			files[s.Name] = true
		}
	}
	for _, p := range review.Pairs(sides[0], sides[1], v.Earlier) {
		switch {
		case p.After == nil:
			hidden[p.Before.Docs[0].File()] = true
		case p.Before == nil || !review.Same(p.Before, p.After):
			hidden[p.After.Docs[0].File()] = true
		}
	}
	return review.Excluded(pattern, len(files), lists.Keys(hidden), r.excluding, accept)
}

// configured returns the settings that count for the current folder, and the name of their file; "" for none. They are those on which the
// commit where the change parted and the tip of its target agree.
func (r *reviewing) configured(ctx context.Context) ([]review.Setting, string, error) {
	places := lists.Map(r.repo.Above(), func(folder string) string { return path.Join(folder, config.Name) })
	if r.Config != "" {
		place, inside := r.repo.Path(r.Config)
		if !inside {
			settings, err := config.Read(r.Config, r.Kinds)
			return settings, r.Config, err
		}
		places = []string{place}
	}
	parted, name, err := r.settingsAt(r.from, r.base, places)
	if err != nil || r.tip == r.from {
		return parted, name, err
	}
	target, err := r.repo.Tree(ctx, r.tip, places...)
	if err != nil {
		return nil, "", err
	}
	tip, name, err := r.settingsAt(r.tip, target, places)
	return review.Agreed(parted, tip), name, err
}

// settingsAt returns the settings of the first of some places at which a commit has a file, and its name.
func (r *reviewing) settingsAt(commit string, files git.Tree, places []string) ([]review.Setting, string, error) {
	for _, place := range places {
		if f, found := files[place]; found {
			name := r.repo.Name(place)
			if f.Kind() != "" {
				return nil, name, fmt.Errorf("%s: a %s in %.12s; replace it by a file", name, f.Kind(), commit)
			}
			settings, err := r.settings(&f, nil)
			return settings, name, err
		}
	}
	return nil, "", nil
}

// settings reads the configuration that a file of a commit or of the working tree is; none for nil.
func (r *reviewing) settings(f *git.File, err error) ([]review.Setting, error) {
	if f == nil || err != nil || f.Kind() != "" {
		return nil, err
	}
	name := r.repo.Name(f.Path)
	if f.Hash == "" {
		return config.Read(name, r.Kinds)
	}
	text, err := r.repo.Read(*f, config.MaxSize)
	if err != nil {
		return nil, err
	}
	return config.Parse(name, text, r.Kinds)
}

// reconfigured reports what the change does to configuration files, those of all folders: rke-lm
// reads the nearest one.
func (r *reviewing) reconfigured() {
	named, _ := r.repo.Path(r.Config)
	is := func(f *git.File) *git.File {
		if f == nil || path.Base(f.Path) != config.Name && (r.Config == "" || f.Path != named) {
			return nil
		}
		return f
	}
	for _, c := range r.changes {
		was, has := is(c.Before), is(c.After)
		if was == nil && has == nil {
			continue
		}
		before, err := r.settings(was, nil)
		after, err := r.settings(has, err)
		if has != nil && has.Kind() != "" {
			err = fmt.Errorf("%s: a %s in the change, which is not read; replace it by a file", r.repo.Name(has.Path), has.Kind())
		}
		if err != nil {
			r.Errs = append(r.Errs, err)
			continue
		}
		found := review.Configuration(r.repo.Name(cmp.Or(has, was).Path), before, after, len(r.Result.Clusters) > 0, r.Target.Accept)
		r.Result.Found(found...)
	}
}

// hides reports whether a plan.json lists the file of a cluster, as one of its plan.
func hides(saved []*clusters.Saved, before *review.Side) bool {
	return slices.ContainsFunc(saved, func(s *clusters.Saved) bool {
		return s.Name == before.Docs[0].File() && before.Identity().Is(s.Plan.Cluster)
	})
}
