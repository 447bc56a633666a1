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
func (c Chart) StopMigrating(ed Edits, tag string, keep bool) {
	w := writing{c, ed}
	if !keep && (c.Migrates() || c.OwnConfig()) {
		w.removeMigration()
	}
	if tag != "" {
		w.place("image", "tag").put(tag, "image", "tag")
	}
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
func (w writing) removeMigration() {
	w.removeFlags()
	if !w.OwnConfig() {
		return
	}
	if i := FindMigrationConfig(w.ed.Documents()); i >= 0 {
		w.ed.In.Remove(i)
	}
	w.removeMount(MigrationConfigMap)
}

// removeFlags takes them out of the source that decides, and out of those below it,
// where they would come back with its end.
func (w writing) removeFlags() {
	if p, list := w.list(argsKey); !list.IsList() { // an archive's own arguments have the flag
		p.put(lists.Map(args.Without(w.Args(), LeaderFlag, leadermigration.ConfigFlag), func(a args.Arg) any { return a.Text }), argsKey)
	}
	for _, l := range w.Layers {
		if list := l.Root.Get(argsKey); l.Form == helmchart.Own || !list.IsList() || !migrates(list) {
			continue
		}
		p := w.ed.open(l)
		args.Remove(p.edit, p.root.Get(argsKey), LeaderFlag)
		args.Remove(p.edit, p.root.Get(argsKey), leadermigration.ConfigFlag)
	}
}

// migrates reports whether a list has arguments of a migration.
func migrates(list yamledit.Node) bool {
	all := args.Of(list.Value())
	return len(args.Without(all, LeaderFlag, leadermigration.ConfigFlag)) < len(all)
}

// StartMigrating queues the reverse of StopMigrating, but for the ConfigMap. The
// arguments are put where the values for the cluster's minor have them, and last
// among other arguments.
func (c Chart) StartMigrating(ed Edits, o Options) {
	w := writing{c, ed}
	p, list := w.list(argsKey)
	if !list.IsList() {
		ed.File.Fail(c.Root.Errorf("its values list no arguments", "add --"+LeaderFlag+"=true manually"))
		return
	}
	i := o.flagPlace(list)
	p.edit.InsertItem(list, i, "--"+LeaderFlag+"=true")
	if o.MigrationConfig {
		p.edit.InsertItem(list, i, migrationArg)
		w.addMounts(migrationMount)
	}
}

// flagPlace returns where the flag belongs in a list that lacks it, and the
// configuration's argument.
func (o Options) flagPlace(list yamledit.Node) int {
	base, _ := o.base()
	ours := args.Of(parsed(o.adapt(base, nil)).Get("args").Value())
	i := slices.IndexFunc(ours, func(a args.Arg) bool { return a.Name == LeaderFlag })
	same := func(a, b args.Arg) bool { return a.Text == b.Text }
	if i < 0 || !slices.EqualFunc(args.Without(ours, LeaderFlag, leadermigration.ConfigFlag), args.Of(list.Value()), same) {
		return list.Len()
	}
	return i
}
