// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	lm "github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Lint checks clusters, and corrects them.
type Lint struct {
	Options
	Fix   bool
	Forms bool // also those of documents whose error names them
	Files clusters.Rewriter
}

// Checked is what was found in a cluster, and what fixes made of it.
type Checked struct {
	report.Checked
	Edit
	left [][]byte // its documents with what fixes made of them; nil for no cluster
}

// Run checks every cluster, as far as the budget of a run lasts, and writes what fixes changed.
func (l Lint) Run(ctx context.Context) ([]Result[Checked], error) {
	results, err := Each(ctx, l.Options, l.cluster)
	if err := cmp.Or(err, yamledit.CheckRun(l.Nodes, l.Parsed)); err != nil {
		return nil, err
	}
	files, moved := newRewriting(&l.Files), 0 // lines that fixes added to the file
	results, err = ended(ctx, results, func(r *Result[Checked]) {
		made := r.Made
		shift(made.Found, moved)
		moved += made.Moved
		cluster := len(made.Found)
		files.failed[r.File] = l.refuse(made, r.Err) || files.failed[r.File]
		if r.Form.Line > 0 && (r.Err == nil || l.Forms) {
			made.add(r.Form.File, r.Form.File, r.Form.Line, review.NotRead(r.Form, transform.Warning, l.Target.Accept))
		}
		shift(made.Found[cluster:], moved)
		files.edits[r.File] = append(files.edits[r.File], made.Edit)
		if len(r.Ended) > 0 && l.Fix {
			made.Ends, moved = files.end(r.Ended), 0
		}
	})
	for i := range results {
		if r := &results[i]; r.Made.left != nil {
			r.Left, _ = files.left(r.Result, r.Made.left)
		}
	}
	return results, err
}

// add adds what was found at a place.
func (c *Checked) add(title, file string, line int, found []transform.Finding) {
	c.Found = append(c.Found, report.Subject{Title: title, File: file, Line: line, Findings: found})
}

// shift moves what was found to the lines that the file has after the fixes in front of it.
func shift(found []report.Subject, lines int) {
	for _, s := range found {
		for i := range s.Findings {
			if s.Findings[i].File != "" {
				s.Findings[i].Line += lines
			}
		}
	}
}

func (l Lint) cluster(f clusters.Cluster, t transform.Target) (*Checked, error) {
	if err := yamledit.CheckRun(l.Nodes, l.Parsed); err != nil {
		return nil, err
	}
	c, err := f.Format.Lint(slices.Concat(f.Docs, f.Related), t)
	if err == nil {
		err, _ = f.Refused(t)
	}
	if c == nil {
		return nil, err
	}
	var made []string
	if l.Fix {
		c, made = plan.Repair(f.Format, c, t)
	}
	findings, unseen := transform.Unseen(f.Format, append(c.Findings(""), f.Objections(t)...))
	slices.SortStableFunc(findings, func(a, b transform.Finding) int { return a.Line - b.Line })
	r, first := &Checked{left: texts(f.Docs)}, f.Docs[0]
	r.add(c.Identity().Format+" "+c.Identity().TitleIn(first.File()), first.File(), first.Root().Line(), append(findings, unseen...))
	if len(made) > 0 {
		after := c.Documents()[:len(f.Docs)]
		r.left = texts(after)
		outcome := report.Outcome{Name: begin(f), What: "fixed " + strings.Join(report.Tally(slices.Sorted(slices.Values(made))), ", ") + ","}
		r.Edit, r.Diffs = edited(outcome, l.Files.DryRun, f.Docs, after, func(int) int { return 0 })
	}
	return r, err
}

// refuse takes an error, and reports whether it keeps the file from being written. A refusal is the finding of its rule,
// and keeps the code that it has for every verb, unless it is about a part of a cluster.
func (l Lint) refuse(made *Checked, err error) (keeps bool) {
	r, is := errors.AsType[*transform.Refused](err)
	if !is {
		made.Err = err
		return err != nil
	}
	found := []transform.Finding{r.Finding()}
	all := lists.Flat(l.Finder.Formats, func(d transform.Format) []transform.Rule { return d.Rules })
	if rule, has := lists.Find(all, func(rule transform.Rule) bool { return rule.ID == r.Rule }); has {
		found = rule.Report(found, l.Target.Accept)
	}
	made.add(r.At.File, r.At.File, r.At.Line, found)
	switch r.Rule {
	case transform.Templated.ID, transform.Encrypted.ID:
		keeps = true
	case rules.ChangedByOverlay.ID, rules.DuplicateCluster.ID:
		keeps = found[0].Stops()
	}
	if keeps {
		made.Code = transform.ExitCodeOf(err)
	}
	return keeps
}

// configured is a LeaderMigrationConfiguration that was found in a file.
type configured struct {
	root   yamledit.Node
	quotes []transform.Finding // about its text
}

// LintConfigs checks each LeaderMigrationConfiguration in files, and two against each other. The errors of files are
// first.
func LintConfigs(ctx context.Context, by lm.Config, paths []string, in io.Reader) (all []report.Checked, err error) {
	sources, err := source.Find(paths, in, source.Excluded{})
	all = []report.Checked{{Err: err}}
	var configs []configured
	for _, s := range sources {
		found, err := configsIn(ctx, s)
		configs, all = append(configs, found...), append(all, report.Checked{Err: err})
	}
	sides := []string{by.Component}
	if by.Component == "" && len(configs) == 2 {
		sides = []string{lm.Manager, lm.CloudManager}
	}
	for i, c := range configs {
		side := by
		side.Component = sides[i%len(sides)]
		// A version that was not given, and that of a side that no one named, is not known.
		reader := lm.Reader{Component: side.Component, Lease: by.Lease, NodeIPAM: by.NodeIPAM}
		if side.Component != "" && (by.Kubernetes != "" || side.Component == lm.CloudManager && by.CCM != "") {
			if reader, err = side.Reader(); err != nil {
				return all[:len(sources)+1], cmp.Or(ctx.Err(), err)
			}
		}
		found := slices.Concat(c.quotes, lm.Lint(c.root, reader))
		if len(sides) == 2 && i == 1 {
			found = append(found, lm.LintBoth(configs[0].root, c.root)...)
		}
		slices.SortStableFunc(found, func(a, b transform.Finding) int { return a.Line - b.Line })
		all = append(all, report.Checked{Found: []report.Subject{{Findings: found}}})
	}
	return all, ctx.Err()
}

// configsIn returns the configurations of a file; one that was named must hold one.
func configsIn(ctx context.Context, s source.Source) ([]configured, error) {
	var all []configured
	text, err := s.Read()
	if err != nil {
		return nil, err
	}
	for c, err := range text.Documents() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return all, err
		}
		if !bytes.Contains(c.Bytes, []byte(lm.Kind)) {
			continue
		}
		roots, quotes, err := lm.Read(c)
		for _, root := range roots {
			all, quotes = append(all, configured{root, quotes}), nil
		}
		if err != nil {
			return all, err
		}
	}
	if s.Named && len(all) == 0 {
		err = transform.WithExitCode(transform.ExitRefused, fmt.Errorf("%s: it has no %s; use a file with one, or a ConfigMap with one", s.Name, lm.Kind))
	}
	return all, err
}

// ruleSet are the rules of a kind of clusters, or of what is checked in another way.
type ruleSet struct {
	of    string
	rules []transform.Rule
}

// ruleSets are those of files, by format, of objects, of changes and of live clusters.
func ruleSets(formats []transform.Format) []ruleSet {
	sets := lists.Map(formats, func(d transform.Format) ruleSet {
		return ruleSet{d.Name, append(slices.Clip(d.Rules), plan.CommentOutdated)}
	})
	return append(sets, ruleSet{"rancher", rollout.Rules()}, ruleSet{"review", review.Rules()}, ruleSet{"live", check.Rules()})
}

// KnownRules are all rules; one that several formats have is in each. Every verb knows all of them, because a
// configuration file accepts for all verbs.
func KnownRules(formats []transform.Format) []transform.Rule {
	return lists.Flat(ruleSets(formats), func(set ruleSet) []transform.Rule { return set.rules })
}

// Rules returns all rules by their names, with their reasons, or those of a name: what formats have in common is
// one row, and what a kind of clusters has in its own way another one.
func Rules(formats []transform.Format, named ...string) (all []report.Rule, err error) {
	for _, set := range ruleSets(formats) {
		for _, r := range set.rules {
			all = report.AddRule(all, set.of, r)
		}
	}
	slices.SortStableFunc(all, func(a, b report.Rule) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range named {
		all = slices.DeleteFunc(all, func(r report.Rule) bool { return r.Name != name && transform.FormerName(r.Name) != name })
		if len(all) == 0 {
			return nil, errors.New("there is no rule " + name + "; " + args.Meant(name, RuleNames(formats), "rke-lm rules lists them"))
		}
	}
	return all, nil
}

// RuleNames are the names of all rules.
func RuleNames(formats []transform.Format) []string {
	all, _ := Rules(formats) // it fails only for a name
	return slices.Compact(lists.Map(all, func(r report.Rule) string { return r.Name }))
}

// Explain finds what machines get.
type Explain struct {
	Options
	Key  string // the only one; "" for all
	Diff string // the stage whose changes are found instead
}

// Run explains every cluster.
func (e Explain) Run(ctx context.Context) ([]report.Explained, error) {
	results, err := Each(ctx, e.Options, e.cluster)
	return lists.Map(results, func(r Result[report.Explained]) report.Explained {
		x := ptr.Deref(r.Made, report.Explained{})
		x.Err = r.Err
		return x
	}), err
}

func (e Explain) cluster(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	if e.Diff != "" {
		return e.compare(f, t)
	}
	config, err := e.effective(f.Format, f.Docs, t)
	if err != nil {
		return nil, err
	}
	x := &report.Explained{Config: config}
	if e.Key != "" && !slices.ContainsFunc(config.Classes, report.Class.Any) {
		if f.Format.Keys == nil { // those of arguments are not listed
			return x, nil
		}
		if err := CheckOneOf("key", e.Key, f.Format.Keys()...); err != nil {
			return nil, err
		}
		x.Note = fmt.Sprintf("%s: %s/%s: %s is not set for any class", config.Source.File, config.Namespace, config.Name, e.Key)
	}
	// Every verb says so of a cluster that is not to be migrated; what its machines get is shown all the same.
	if _, err := f.Format.Open(f.Docs, t); len(transform.NotMigratableIn(err)) > 0 {
		return x, err
	}
	return x, nil
}

func (e Explain) effective(d transform.Format, docs []*yamledit.Document, t transform.Target) (report.EffectiveConfig, error) {
	id := d.Identify(docs[0])
	config := report.EffectiveConfig{
		Name: id.Name, Namespace: id.Namespace, Format: d.Name,
		Source: report.SourceOf(docs[0]),
	}
	classes, err := d.Classes(docs, t)
	if err == nil && len(classes) == 0 {
		return config, transform.WithExitCode(transform.ExitRefused, docs[0].Root().Errorf("there is nothing to explain: every machine of an "+strings.ToUpper(d.Name)+" cluster gets the configuration in the file", "read the file, or see the diffs of plan"))
	}
	config.Classes = lists.Map(classes, func(c transform.MachineClass) report.Class { return report.NewClass(c, e.Key) })
	return config, err
}

// compare finds a stage's effect on every class.
func (e Explain) compare(f clusters.Cluster, t transform.Target) (*report.Explained, error) {
	p, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: e.Diff})
	if err != nil {
		return nil, err
	}
	step, err := p.Named(e.Diff)
	if err != nil {
		return nil, err
	}
	var of [2]report.EffectiveConfig // before the stage, and after it
	for i, docs := range [][]*yamledit.Document{step.Before(), step.After()} {
		if of[i], err = e.effective(f.Format, docs, t); err != nil {
			return nil, err
		}
	}
	x := &report.Explained{}
	for i, c := range of[0].Classes {
		name := fmt.Sprintf("%s/%s class %s", of[0].Namespace, of[0].Name, c.Name)
		if d := udiff.Unified(name+" before "+e.Diff, name+" after "+e.Diff, c.Lines(), of[1].Classes[i].Lines()); d != "" {
			x.Diffs = append(x.Diffs, d)
		}
	}
	if len(x.Diffs) == 0 {
		x.Note = fmt.Sprintf("%s: %s changes nothing that reaches a machine", f.Docs[0].File(), e.Diff)
	}
	return x, nil
}
