// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// check reports what is wrong with the change.
func (c *comparison) check(out Change) {
	switch {
	case c.old == nil && len(c.findings) == 0:
		c.fresh() // not a cluster to migrate: its changes are not of a migration
		return
	case c.old != nil && c.now == nil:
		return // what the change lost is reported, and explains the rest
	}
	c.order()
	c.upgrade(out)
	c.machines()
	c.documents(out.Edits)
	c.guards()
	c.fresh()
}

// order reports stages that do not come one by one.
func (c *comparison) order() {
	at := func(message, fix string) transform.Finding {
		return transform.FindingAt(c.place(), message, fix)
	}
	if n := c.merged(); n > 1 {
		c.report(severalStages, at(fmt.Sprintf("the change performs %d stages at once: %s", len(c.performed), strings.Join(c.performed, ", ")),
			"merge them one by one; roll each out and check it with rke-lm verify --stage before the next"))
	}
	if len(c.performed) > 0 {
		if first := c.next(); first != "" && c.earlier(first, c.performed[0]) {
			c.report(stageOutOfOrder, at(c.performed[0]+" is performed, and "+first+" comes before it and is not done", "perform "+first+" first, with rke-lm apply --next"))
		}
	}
	if len(c.undone) > 0 {
		c.report(stageUndone, at("the change undoes "+strings.Join(c.undone, ", "), "revert this edit; for a rollback that is intended, use --accept "+stageUndone.ID+", or accept it in the base"))
	}
}

// merged is how many stages would be rolled out at once. Without leader migration some
// are made together.
func (c *comparison) merged() int {
	n := len(c.performed)
	for _, name := range c.performed {
		if with := stages.Named(name).With; c.old.Target.NoLeaderMigration && with != "" && slices.Contains(c.performed, with) {
			n--
		}
	}
	return n
}

// earlier reports whether a stage comes before another one in the plan.
func (c *comparison) earlier(a, b string) bool {
	at := func(name string) int {
		return slices.IndexFunc(c.old.Steps, func(s transform.PlannedStage) bool { return s.Stage.Name == name })
	}
	return at(a) < at(b)
}

// place is where the change edits what its first stage edits, or the cluster as a whole.
func (c *comparison) place() yamledit.Node {
	plan, names := c.old, c.performed
	if len(names) == 0 {
		plan, names = c.now, c.undone
	}
	for i, doc := range c.before.Docs {
		if i >= len(c.after.Docs) {
			break
		}
		for _, d := range differences(spec(doc), spec(c.after.Docs[i])) {
			if edited(plan, names, d.node().Path()) {
				if d.after.Exists() {
					return d.after
				}
				return nearest(c.after.Docs[i], d.before)
			}
		}
	}
	return c.after.Docs[0].Root()
}

// upgrade reports a stage that comes with another release.
func (c *comparison) upgrade(out Change) {
	if out.Version == "" || !c.moves() || c.old.Target.Version == out.Cluster.Version {
		return
	}
	c.report(stageWithUpgrade, transform.FindingAt(c.versionAt(out),
		fmt.Sprintf("the change moves the cluster from %s to %s together with %s", out.Version, out.Cluster.Version, c.named()),
		"upgrade in a change of its own, or plan the upgrade as a part of the switch, with target-version in the configuration of the base"))
}

func (c *comparison) versionAt(out Change) yamledit.Node {
	for i, doc := range c.before.Docs {
		if i >= len(c.after.Docs) {
			break
		}
		for _, d := range differences(spec(doc), spec(c.after.Docs[i])) {
			if s, _ := d.after.String(); s == out.Cluster.Version {
				return d.after
			}
		}
	}
	return c.after.Docs[0].Root()
}

// guards reports what the rules that guard the stages of the change find in the result.
func (c *comparison) guards() {
	if len(c.performed) == 0 {
		return
	}
	after, err := c.after.Distro.Open(c.after.Docs, c.old.Target)
	if err != nil {
		return // reported as a lost plan
	}
	for _, name := range c.performed {
		own, _ := transform.Unseen(c.after.Distro, after.Findings(name))
		c.findings = append(c.findings, slices.DeleteFunc(own, func(f transform.Finding) bool { return f.Severity != transform.Error })...)
	}
}

// fresh reports the errors that lint finds after the change and not before it, where no
// rule of changes has reported the place.
func (c *comparison) fresh() {
	had := map[string]bool{}
	for _, f := range lint(c.before, c.target) {
		had[f.Rule+" "+f.Path] = true
	}
	for _, f := range lint(c.after, c.target) {
		lost := func(other transform.Finding) bool {
			return other.Rule == flagOverridden.ID && other.File == f.File && other.Line == f.Line
		}
		if !had[f.Rule+" "+f.Path] && !slices.ContainsFunc(c.findings, lost) {
			c.findings = append(c.findings, f)
		}
	}
}

// lint returns the errors of a side.
func lint(s *Side, t transform.Target) []transform.Finding {
	c, _ := s.Distro.Lint(s.all(), t)
	if c == nil {
		return nil
	}
	own, _ := transform.Unseen(s.Distro, c.Findings(""))
	return slices.DeleteFunc(own, func(f transform.Finding) bool { return f.Severity != transform.Error })
}
