// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// comparison is one in progress.
type comparison struct {
	before, after *Side
	target        transform.Target
	old, now      *plan.Plan // nil where the migration cannot be planned
	performed     []string   // in their order
	undone        []string
	expected      []*yamledit.Document // before, with the stages of the change
	took          bool                 // the provider, with no manager in its place: it is reverted
	removed       yamledit.Node        // the manager that is removed
	findings      []transform.Finding
	compared      map[[2]*transform.Setting][]otherValue // of two classes, by their first settings
}

func (c *comparison) evaluate() Change {
	out := Change{Cluster: c.after.full(c.target), Before: c.before, After: c.after}
	if v := c.before.full(c.target).Version; v != out.Cluster.Version {
		out.Version = v
	}
	c.plan()
	c.removal()
	c.expect(out)
	out.Undone = c.undone
	for _, name := range c.performed {
		step, _ := c.old.Step(name)
		out.Stages = append(out.Stages, step)
	}
	now := c.now
	if out.Version != "" && now != nil { // another release can be another situation, in which plan shows it
		now, _ = plan.Build(c.after.Format, c.after.Docs, c.target)
	}
	if now != nil {
		out.Left = now.Summary()
	}
	out.Classes = c.classes()
	out.Edits = c.edits()
	if c.check(out); c.took {
		out.Left.Next = "" // it is reverted
	}
	out.Kind = Unchanged
	if out.Version != "" || len(out.Stages)+len(out.Undone)+len(out.Classes)+len(out.Edits)+len(c.findings) > 0 {
		out.Kind = Changed
	}
	out.Findings = c.inOrder()
	return out
}

var stagesUnknown = transform.Rule{ID: "stages-unknown", Severity: transform.Warning,
	Doc: "The migration could not be planned before the change either, so its stages are not recognized. It shows what machines get. An error if the change edits a line about the provider, the arguments of a manager, the cloud-controller-manager or the version."}.Because(
	"Without a plan the change is only compared, not recognized.", ownStages, "Correct what the plan of the base reports.", "If the change was reviewed in another way, such as rke-lm explain of both versions.")

var planLost = transform.Rule{ID: "plan-lost", Severity: transform.Error,
	Doc: "The migration can be planned before the change, and not after it; or the change adds a cluster that cannot be read."}.Because(
	"After the change no stage can be planned, applied or undone.", ownStages, "Correct what the plan of the changed file reports.", "If the cluster is not migrated with rke-lm any more.")

var providerLost = transform.Rule{ID: "provider-lost", Severity: transform.Error,
	Doc: "The cluster can be migrated before the change, and not after it: the provider was removed, or replaced by another one than aws or external. Or control planes become external before the stages that come first, and no cloud-controller-manager is in the file."}.Because(
	"No manager runs the cloud controllers. Without a provider RKE2 starts its own stub, and new nodes get the provider ID rke2://, which cannot be changed.", transform.SourceNodeNames, "Set the provider to external in the stage of the switch.", "If the cluster leaves AWS.")

// plan plans both sides with the same choices and in the same situation: that of the
// cluster before the change. Where no end state was chosen, it is that of the change; and so are short leases.
func (c *comparison) plan() {
	c.target.Related = c.after.Related
	if after, err := c.after.Format.Open(c.after.Docs, c.target); err == nil {
		c.target.Taken, c.target.ShortLeases = after.Chosen().Taken, after.Chosen().ShortLeases
	}
	old, err := plan.Build(c.before.Format, c.before.Docs, c.target)
	if err != nil {
		touched := c.touched()
		if len(transform.NotMigratableIn(err)) == 0 || slices.ContainsFunc(touched, difference.substituted) {
			f := placed(err, c.after.Docs[0].Root(), "before the change: ")
			if len(touched) > 0 || len(c.before.Docs) != len(c.after.Docs) {
				f.Severity, f.Message = transform.Error, f.Message+"; the change edits a line about the provider, the arguments of a manager or the version"
			}
			c.report(stagesUnknown, f)
		}
		return
	}
	c.old = old
	c.now, err = plan.Build(c.after.Format, c.after.Docs, old.Target)
	switch {
	case err == nil:
	case len(transform.NotMigratableIn(err)) > 0:
		f := placed(err, c.after.Docs[0].Root(), "")
		f.Severity = transform.Error // a cluster of another provider is a note, one that becomes one is not
		c.report(providerLost, f)
	default:
		c.report(planLost, placed(err, c.after.Docs[0].Root(), ""))
	}
	if c.now != nil {
		c.performed, c.undone = c.own(moved(c.old, c.now), moved(c.now, c.old))
		if first, _ := c.passed(); first != "" { // what comes after it only seems to be made, but for the switch
			c.performed = slices.DeleteFunc(c.performed, func(name string) bool { return name != stages.SwitchToExternal })
		}
	}
}

// touched are the differences in the provider, the arguments of a manager, the cloud-controller-manager or the version, as
// far as keys show it. Of manifests all are.
func (c *comparison) touched() (list []difference) {
	for i, doc := range c.before.Docs[:min(len(c.before.Docs), len(c.after.Docs))] {
		list = append(list, lists.Where(differences(doc.Root(), c.after.Docs[i].Root()), func(d difference) bool {
			return c.before.Format.Grouping.Several || aboutMigration.MatchString(d.node().Path())
		})...)
	}
	return list
}

// substituted reports whether another program sets the value, as for ${PROVIDER:=aws}.
func (d difference) substituted() bool {
	return strings.Contains(d.before.StringAt()+d.after.StringAt(), "${") && aboutMigration.MatchString(d.node().Path())
}

// aboutMigration matches paths of what a migration depends on.
var aboutMigration = regexp.MustCompile(`(?i)cloud.?provider|cloud.?controller|version|args?\b|machine(?:global|selector)config|^(?:spec|.*\brkeconfig|services)$|services\.kube|additionalmanifest|addons|chartvalues|images?\b`)

// placed turns an error into a finding at its own place, or at a node.
func placed(err error, n yamledit.Node, prefix string) transform.Finding {
	var r *transform.Refused
	if errors.As(err, &r) && prefix == "" {
		return r.Finding()
	}
	f := transform.FindingAt(n, prefix+err.Error(), "correct it")
	var at *yamledit.Error
	if errors.As(err, &at) {
		f.Message, f.Fix = prefix+at.What, at.Do
		if prefix == "" {
			f.File, f.Line = at.File, at.Line
		}
	}
	return f
}

// own leaves out the stages that the release of the change leaves no use for, whatever else the change makes: they are
// done without it as well. And those that are to do again because of the release alone, such as the image of its minor.
func (c *comparison) own(performed, undone []string) (ofPerformed, ofUndone []string) {
	from, to := c.old.Cluster.Version, c.now.Cluster.Version
	if from == to || len(performed)+len(undone) == 0 {
		return performed, undone
	}
	docs := slices.Clone(c.before.Docs)
	for i := range docs[:min(len(docs), len(c.after.Docs))] {
		docs[i] = upgraded(docs[i], c.after.Docs[i], from, to)
	}
	p, err := plan.Build(c.before.Format, docs, c.old.Target)
	if err != nil {
		return performed, undone
	}
	done := func(name string) bool {
		s, _ := p.Step(name)
		return name != stages.UpgradeKubernetes && s.State == plan.Done
	}
	return slices.DeleteFunc(performed, done), slices.DeleteFunc(undone, func(name string) bool {
		s, _ := p.Step(name)
		return s.Left()
	})
}

// moved lists the stages with an edit that is left in one plan and done in the other.
func moved(from, to *plan.Plan) []string {
	return lists.Found(from.Steps, func(s plan.Step) (string, bool) {
		other, has := to.Step(s.Stage.Name)
		return s.Stage.Name, has && s.Left() && other.State == plan.Done
	})
}

// expect works out what the documents are after the stages of the change alone, at the
// release that the change has.
func (c *comparison) expect(out Change) {
	c.expected = c.before.Docs
	if len(c.performed) > 0 {
		if docs, err := plan.Perform(c.before.Format, c.before.Docs, c.old.Target, c.performed); err == nil {
			c.expected = docs
		} else if last, has := c.old.Step(c.performed[len(c.performed)-1]); has {
			c.expected = last.After()
		}
	}
	if out.Version == "" || len(c.expected) != len(c.after.Docs) {
		return
	}
	for i, doc := range c.expected {
		c.expected = slices.Clone(c.expected)
		c.expected[i] = upgraded(doc, c.after.Docs[i], out.Version, out.Cluster.Version)
	}
}

// upgraded sets the release where the change does.
func upgraded(doc, after *yamledit.Document, from, to string) *yamledit.Document {
	for _, d := range differences(spec(doc), spec(after)) {
		if d.before.StringAt() != from || d.after.StringAt() != to {
			continue
		}
		e := doc.Edit()
		e.Set(d.before, to)
		if with, _, err := e.Apply(); err == nil {
			return with
		}
	}
	return doc
}

// next is the first stage whose edit is left in a plan; "" for none.
func next(p *plan.Plan) string {
	if p == nil {
		return ""
	}
	s, _ := lists.Find(p.Steps, plan.Step.Left)
	return s.Stage.Name
}

// passed is the first stage that the change passes over: it was left to do, the switch leaves no
// use for it, and the change does not perform it. begin is where to begin instead. A manager that is
// accepted as installed elsewhere was not passed over.
func (c *comparison) passed() (first, begin string) {
	if c.now == nil {
		return "", ""
	}
	for _, s := range c.old.Steps {
		now, _ := c.now.Step(s.Stage.Name)
		if begin == "" && !s.Past() {
			begin = s.Stage.Name
		}
		switch {
		case s.Stage.Name == stages.SwitchToExternal:
			return "", ""
		case s.Left() && !now.Left() && !slices.Contains(c.performed, s.Stage.Name) &&
			!slices.ContainsFunc(now.Findings, func(f transform.Finding) bool { return f.Rule == plan.RuleNotInFile && f.Accepted }):
			return s.Stage.Name, begin
		}
	}
	return "", ""
}

// manager is what runs the cloud-controller-manager on a side.
func (s *Side) manager(t transform.Target) yamledit.Node {
	if c, _ := s.Format.Lint(s.all(), t); c != nil {
		return c.Manager()
	}
	return yamledit.Node{}
}

// report adds findings of a rule.
func (c *comparison) report(r transform.Rule, found ...transform.Finding) {
	c.findings = append(c.findings, r.Report(found, c.target.Accept)...)
}

// inOrder returns the findings by their place, errors first.
func (c *comparison) inOrder() []transform.Finding {
	weight := map[transform.Severity]int{transform.Error: 0, transform.Warning: 1, transform.Note: 2}
	slices.SortStableFunc(c.findings, func(a, b transform.Finding) int {
		return cmp.Or(cmp.Compare(weight[a.Severity], weight[b.Severity]), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.CompactFunc(c.findings, func(a, b transform.Finding) bool { return a == b })
}
