// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package run does the work of the verbs: of each cluster that was found it returns what a verb makes
// of it, as data, with what became of its files.
//
// The type of a verb is next to those like it.
//
// Invariant: it parses no flags, and prints only notes of what it waits for. What a verb decides is in transform; the results
// come in the order of the clusters, and one cluster that fails ends no other.
package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Names of files that are of one cluster, as in Finder.Only and in errors: with the host names of its Nodes, and with
// the values of its chart.
const HostNames, CCMValues = "host-names", "ccm-values"

// Options are what verbs share: the clusters that were found, and the choices for them.
type Options struct {
	Finder   clusters.Finder // that found them
	Found    []clusters.Result
	Once     bool // Found, and the results, lose each cluster once its work is done: no other verb reads them
	Target   transform.Target
	Progress *report.Progress // nil where none is shown
	Err      error            // of the choices, with which every verb fails; nil for none

	Nodes, Parsed int64 // the work of the process before the clusters were found: yamledit.Spent
}

// Result is what a verb makes of a cluster, or an error, or both; or what else was found.
type Result[T any] struct {
	clusters.Result
	Target transform.Target // for the cluster
	Made   *T               // nil for nothing
	Left   [][]byte         // the documents of the cluster, as the verb leaves them; nil for none
}

// Each calls work for every cluster, on all cores. It fails if a choice is wrong, or ctx ends.
func Each[T any](ctx context.Context, o Options, work func(clusters.Cluster, transform.Target) (*T, error)) ([]Result[T], error) {
	if o.Err != nil {
		return nil, o.Err
	}
	defer o.Progress.Start(ctx).End()
	var done atomic.Int64
	places := make([]*clusters.Result, len(o.Found))
	for i := range o.Found {
		places[i] = &o.Found[i]
	}
	results := clusters.Each(ctx, 0, places, func(place *clusters.Result) Result[T] {
		r := *place
		of := Result[T]{Result: r}
		if r.Docs != nil && r.Err == nil {
			of.Target = r.For(o.Target)
			of.Err = transform.Guard(r.Place(), func() (err error) {
				if err = CheckHostNames(o.Finder, r.Cluster); err == nil {
					of.Made, err = work(r.Cluster, of.Target)
				}
				return err
			})
			for _, d := range r.Docs {
				d.Forget() // the results of all clusters are kept until the end
			}
		}
		if o.Once {
			of.Cluster, of.Ended, *place = clusters.Cluster{}, nil, clusters.Result{}
		}
		o.Progress.Reached("clusters", int(done.Add(1)), len(o.Found))
		return of
	})
	return results, ctx.Err()
}

// ended calls end for each result, in their order, until ctx ends: what is written is written in it. A result of which
// nothing was made has an empty one then.
func ended[T any](ctx context.Context, results []Result[T], end func(*Result[T])) ([]Result[T], error) {
	for i := range results {
		if err := ctx.Err(); err != nil {
			return results[:i], err
		}
		if results[i].Made == nil {
			results[i].Made = new(T)
		}
		end(&results[i])
	}
	return results, ctx.Err()
}

// CheckHostNames refuses host names for RKE, whose kubelets take another name than the host's.
func CheckHostNames(f clusters.Finder, c clusters.Cluster) error {
	if f.Only != HostNames || c.Format.Live.Kind != transform.Management {
		return nil
	}
	return c.Docs[0].Root().Errorf("--"+HostNames+" proves nothing for RKE: its kubelets have the hostname_override of the node, and not the host name", "remove the flag; the switch keeps the names with useInstanceMetadataHostname")
}

// MostSummed bounds the clusters of which a verb that changes or checks them works out the state:
// that costs as much as the change.
const MostSummed = 100

// States are the states of several clusters as a verb leaves them, and of a single one if alone is set.
func States[T any](results []Result[T], alone bool) (s report.States) {
	left := slices.DeleteFunc(slices.Clone(results), func(r Result[T]) bool { return r.Left == nil && r.Err == nil })
	for _, r := range left {
		s.Clusters += min(len(r.Left), 1)
	}
	if s.TooMany = s.Clusters > MostSummed; s.TooMany || len(left) < 2 && !alone {
		return s
	}
	for _, r := range left {
		if one, has := stateOf(r.Cluster, r.Target, r.Left); has {
			s.Of = append(s.Of, one)
		} else if r.Err != nil {
			s.Refused++
		}
	}
	s.Alone = len(left) == 1 && len(s.Of) == 1
	return s
}

// States are the states of the clusters, with the command that checks those that were changed.
func (a Apply) States(results []Result[Applied]) report.States {
	changed := lists.Where(results, func(r Result[Applied]) bool { return r.Made.Changed })
	s := States(results, len(changed) == 1)
	for i, r := range changed {
		check := action.Words(stages.VerifyCommand(r.Made.Verify, r.Made.Planned)...)
		switch {
		case i == 0:
			s.Check, s.Live = check, r.Live.Name()
		case check != s.Check:
			s.Check = "rke-lm verify --stage STAGE"
		}
		if i > 0 && s.Live != "" {
			s.Live = "CLUSTER"
		}
	}
	return s
}

// stateOf is the state of a cluster; false where its documents have no plan, which the verb reports.
func stateOf(c clusters.Cluster, t transform.Target, left [][]byte) (s report.Status, has bool) {
	if left == nil {
		return s, false
	}
	err := transform.Guard(c.Place(), func() error {
		p, err := plan.BuildFor(c.Format, revised(c.Docs, left), t, plan.Choice{Next: true})
		if err != nil {
			return err
		}
		s = report.NewStatus(p)
		s.Live, s.Refused = c.Live.Name(), c.Refusal(t) != nil
		s.Count(c.Objections(t))
		return nil
	})
	return s, err == nil
}

// Edit is what becomes of the documents of a cluster.
type Edit struct {
	report.Outcome // up to what becomes of the file
	Changes        []clusters.Change
	Moved          int // lines that are added
}

// edited compares documents with those that replace them, in a dry run with their diffs; first is the stage that changes
// each first.
func edited(o report.Outcome, dry bool, before, after []*yamledit.Document, first func(i int) int) (e Edit, diffs []string) {
	e.Outcome = o
	for i, doc := range before {
		if after[i] == doc {
			continue
		}
		if dry {
			diffs = append(diffs, report.Diff(doc, after[i]))
		}
		e.Moved += bytes.Count(after[i].Bytes(), []byte("\n")) - bytes.Count(doc.Bytes(), []byte("\n"))
		e.Changes = append(e.Changes, clusters.Change{Before: doc.Chunk(), After: after[i].Chunk(), First: first(i)})
	}
	return e, diffs
}

// rewriting writes files once all of their clusters are known, unless one failed.
type rewriting struct {
	*clusters.Rewriter
	edits  map[string][]Edit  // by file
	errs   map[string][]error // by file, which are shown when it ends
	failed map[string]bool    // files that are not written
}

func newRewriting(files *clusters.Rewriter) rewriting {
	return rewriting{files, map[string][]Edit{}, map[string][]error{}, map[string]bool{}}
}

// end writes files that end together, with the edits of their clusters, and returns what became of them.
func (w rewriting) end(texts []source.Text) (ends report.Ends) {
	failed, of := false, "it"
	if len(texts) > 1 {
		of = "the files of its cluster"
	}
	var changes []clusters.Change
	for _, t := range texts {
		failed, ends.Errs = failed || w.failed[t.Name], append(ends.Errs, w.errs[t.Name]...)
		delete(w.errs, t.Name)
		changes = append(changes, lists.Flat(w.edits[t.Name], func(e Edit) []clusters.Change { return e.Changes })...)
	}
	var list []clusters.File
	for _, t := range texts {
		changed := slices.DeleteFunc(slices.Clone(changes), func(c clusters.Change) bool { return c.Before.File != t.Name })
		if list = append(list, clusters.File{Text: t, Changes: changed}); failed && len(changed) > 0 {
			ends.Notes = append(ends.Notes, t.Name+": not written, because of errors in "+of)
		}
	}
	if !failed {
		if err := w.Write(list); err != nil {
			failed, ends.Errs = true, append(ends.Errs, err)
		}
	}
	for _, f := range list {
		if w.failed[f.Name] = failed; failed {
			continue
		}
		if len(f.Changes) > 0 && !w.Prints(f.Text) {
			ends.Files = append(ends.Files, w.became(f.Text))
		}
		for _, e := range w.edits[f.Name] {
			if len(e.Changes) > 0 {
				ends.Clusters = append(ends.Clusters, report.Outcome{Name: e.Name, What: e.What + " " + w.became(f.Text)})
			}
		}
	}
	return ends
}

// left is how a run leaves the documents of a cluster that became others, nil for none: unchanged where its file failed, or
// nothing is written. It reports whether they are written where they are from.
func (w rewriting) left(r clusters.Result, after [][]byte) (left [][]byte, written bool) {
	if after == nil || w.failed[r.File] || w.DryRun {
		return texts(r.Docs), false
	}
	return after, !w.Print && r.File != yamledit.Stdin
}

// became is what became of a file that did not fail.
func (w rewriting) became(f source.Text) string {
	switch {
	case w.DryRun:
		return "would be written"
	case w.Prints(f):
		return "printed"
	}
	return "written"
}

func texts(docs []*yamledit.Document) [][]byte { return lists.Map(docs, (*yamledit.Document).Bytes) }

// revised returns documents with other texts, of which each was parsed before; one whose text stays is the same.
func revised(docs []*yamledit.Document, texts [][]byte) []*yamledit.Document {
	after := slices.Clone(docs)
	for i, doc := range docs {
		if chunk := doc.Chunk(); !bytes.Equal(chunk.Bytes, texts[i]) {
			chunk.Bytes = texts[i]
			after[i], _ = yamledit.Parse(chunk)
		}
	}
	return after
}

// ChoiceValues are the values of the choices that have a few.
var ChoiceValues = map[string][]string{
	"end-state":               {transform.EndStateExternal, transform.EndStateOverride},
	"cordon":                  {transform.CordonAuto, transform.CordonAlways, transform.CordonNever},
	"rbac":                    {transform.RBACRole, transform.RBACPatch},
	"leader-migration-config": {transform.ConfigDefault, transform.ConfigGenerate},
}

// CheckChoices refuses choices that are wrong, or mean nothing together. rules are those that can be accepted, or not.
func CheckChoices(t transform.Target, rules []transform.Rule) error {
	for _, c := range []struct{ flag, value string }{
		{"end-state", t.EndState}, {"cordon", t.Cordon}, {"rbac", t.RBAC}, {"leader-migration-config", t.LeaderMigrationConfig},
	} {
		if err := CheckOneOf(c.flag, c.value, ChoiceValues[c.flag]...); c.value != "" && err != nil {
			return err
		}
	}
	for flag, version := range map[string]string{"rancher-version": t.RancherVersion, "rke-version": t.RKEVersion} {
		if version != "" && !semver.IsValid("v"+strings.TrimPrefix(version, "v")) {
			return fmt.Errorf("--%s %s is not a version such as 1.5.12", flag, version)
		}
	}
	manual := func(stage string) error { return CheckOneOf("manual-done", stage, stages.Names()...) }
	return cmp.Or(checkMigration(t), lists.Check(t.ManualDone, manual), CheckAccept(t.Accept, rules))
}

// checkMigration refuses what is no release of Kubernetes to upgrade to, and choices of leader migration that mean
// nothing together.
func checkMigration(t transform.Target) error {
	if v := "v" + strings.TrimPrefix(t.Version, "v"); t.Version != "" && (!semver.IsValid(v) || semver.MajorMinor(v) == v || semver.Major(v) != "v1") {
		return fmt.Errorf("--target-version %s is not a release such as v1.27.16+rke2r1", t.Version)
	}
	if err := leadermigration.CheckLease(t.Lease()); err != nil {
		return fmt.Errorf("--lease-name: %w", err)
	}
	generated := t.LeaderMigrationConfig == transform.ConfigGenerate
	switch {
	case t.KeepLeaderMigration && t.NoLeaderMigration:
		return errors.New("--keep-leader-migration and --no-leader-migration are mutually exclusive; remove one")
	case t.ShortLeases && t.NoLeaderMigration:
		return errors.New("--short-leases and --no-leader-migration are mutually exclusive: without leader migration there is no lease to acquire; remove one")
	case generated && t.NoLeaderMigration:
		return errors.New("--leader-migration-config generate and --no-leader-migration are mutually exclusive; remove one")
	case t.NodeIPAM && !generated && !t.NoLeaderMigration:
		return errors.New("--nodeipam: the managers do not migrate it by default, and both would run it; add --leader-migration-config generate")
	case t.Lease() != transform.DefaultLease && !generated:
		return errors.New("--lease-name: only a configuration can set another name in both managers; add --leader-migration-config generate")
	}
	return nil
}

// CheckAccept refuses rules that do not exist or must not be accepted.
func CheckAccept(accept []string, rules []transform.Rule) error {
	for _, id := range accept {
		i := slices.IndexFunc(rules, func(r transform.Rule) bool { return r.Is(id) })
		if i < 0 {
			return fmt.Errorf("--accept %s: no such rule; %s", id, args.Meant(id, Acceptable(rules), "rke-lm rules lists them"))
		}
		if !rules[i].Acceptable() {
			return fmt.Errorf("--accept %s: this rule cannot be accepted; correct what it finds", id)
		}
	}
	return nil
}

// Acceptable are the names of the rules that can be accepted.
func Acceptable(rules []transform.Rule) []string {
	return lists.Distinct(lists.Found(rules, func(r transform.Rule) (string, bool) { return r.ID, r.Acceptable() }))
}

// CheckOneOf refuses a value that a flag does not take.
func CheckOneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s %s is not known; %s", flag, value, args.Meant(value, allowed, "use one of "+strings.Join(allowed, ", ")))
}
