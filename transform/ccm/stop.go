// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// StopMigrating queues the end of the migration: the flag and the configuration go
// unless they are to be kept, and the image moves to a tag unless that is "".
func (c Chart) StopMigrating(ed Edits, tag string, keep bool) error {
	at := c.placer(ed)
	if !keep && (c.Migrates() || c.OwnConfig()) {
		if err := c.removeMigration(ed, at); err != nil {
			return err
		}
	}
	if tag == "" {
		return nil
	}
	p, err := at("image", "tag")
	if err == nil {
		p.put(tag, "image", "tag")
	}
	return err
}

// FinalTag returns the image tag that the chart has to have at the end on a minor, or "" to
// keep the one it has: a tag of that minor, whatever its patch, or one that the operator chose
// and that names no minor.
func (c Chart) FinalTag(t transform.Target, format, minor string) string {
	own := semver.MajorMinor(t.ImageTag)
	switch {
	case t.KeepLeaderMigration && c.ConfigFile() != "" && !leadermigration.SameNames(c.ImageTag(), minor):
		return "" // its configuration stays, and names the controllers of this image
	case c.ImageTag() == "", c.ImageMinor() == minor, own == "" && c.ImageTag() == t.ImageTag:
		return ""
	case own == minor:
		return t.ImageTag
	}
	return DefaultTag(format, minor)
}

// Raise queues the version of the chart that grants what the image of a minor asks for, where the
// file pins an earlier one of the published charts.
func (c Chart) Raise(ed Edits, o Options) {
	at := c.Root.Get("spec", "version")
	now, is := at.String()
	if !is || !k8s.From(o.Minor, newRights) || c.Packed() || c.Foreign() != "" || !semver.IsValid("v"+now) || semver.Compare("v"+now, "v"+firstWithRights) >= 0 {
		return
	}
	ed.In.Edit(c.Index).Set(at, o.Version())
}

// removeMigration takes away the flag, the configuration's argument, and what
// rke-lm has mounted for it.
func (c Chart) removeMigration(ed Edits, at placer) error {
	if err := c.removeFlags(ed, at); err != nil {
		return err
	}
	if !c.OwnConfig() {
		return nil
	}
	if i := FindMigrationConfig(ed.Documents()); i >= 0 {
		ed.In.Remove(i)
	}
	return removeMount(at, MigrationConfigMap)
}

// removeFlags takes them out of the source that decides, and out of those below it,
// where they would come back with its end.
func (c Chart) removeFlags(ed Edits, at placer) error {
	p, err := at(argsKey)
	if err != nil {
		return err
	}
	if list, err := p.list(argsKey); err != nil {
		return err
	} else if !list.IsList() { // an archive's own arguments have the flag
		rest := lists.Map(args.Without(c.Args(), LeaderFlag, leadermigration.ConfigFlag), func(a args.Arg) any { return a.Text })
		p.put(rest, argsKey)
	}
	for _, l := range c.Layers {
		if list := l.Root.Get(argsKey); l.Form == helmchart.Own || !list.IsList() || !migrates(list) {
			continue
		}
		p, err := ed.open(l)
		if err != nil {
			return err
		}
		args.Remove(p.edit, p.root.Get(argsKey), LeaderFlag)
		args.Remove(p.edit, p.root.Get(argsKey), leadermigration.ConfigFlag)
	}
	return nil
}

// migrates reports whether a list has arguments of a migration.
func migrates(list yamledit.Node) bool {
	all := args.Of(list.Value())
	return len(args.Without(all, LeaderFlag, leadermigration.ConfigFlag)) < len(all)
}

// StartMigrating queues the reverse of StopMigrating, but for the ConfigMap. The
// arguments are put where the values for the cluster's minor have them, and last
// among other arguments.
func (c Chart) StartMigrating(ed Edits, o Options) error {
	place := c.placer(ed)
	p, err := place(argsKey)
	if err != nil {
		return err
	}
	list, err := p.list(argsKey)
	if err != nil {
		return err
	}
	if !list.IsList() {
		return c.Root.Errorf("its values list no arguments", "add --"+LeaderFlag+"=true manually")
	}
	i := o.flagPlace(list)
	p.edit.InsertItem(list, i, "--"+LeaderFlag+"=true")
	if !o.MigrationConfig {
		return nil
	}
	p.edit.InsertItem(list, i, migrationArg)
	return addMounts(place, migrationMount)
}

// flagPlace returns where the flag belongs in a list that lacks it, and the
// configuration's argument.
func (o Options) flagPlace(list yamledit.Node) int {
	base, _ := o.base()
	d, err := yamledit.ParseString("values.yaml", o.adapt(base, nil))
	if err != nil {
		return list.Len()
	}
	ours := args.Of(d.Root().Get("args").Value())
	i := slices.IndexFunc(ours, func(a args.Arg) bool { return a.Name == LeaderFlag })
	same := func(a, b args.Arg) bool { return a.Text == b.Text }
	if i < 0 || !slices.EqualFunc(args.Without(ours, LeaderFlag, leadermigration.ConfigFlag), args.Of(list.Value()), same) {
		return list.Len()
	}
	return i
}
