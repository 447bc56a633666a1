// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// StopMigrating queues the end of the migration: the flag and the configuration go
// unless they are to be kept, and the image moves to a tag unless that is "".
func (c Chart) StopMigrating(in *yamledit.Embedded, tag string, keep bool) error {
	if (keep || !c.Migrates() && !c.OwnConfig()) && tag == "" {
		return nil
	}
	nested, err := in.Edit(c.Index).Embedded(c.Root.Get("spec", valuesKey))
	if err != nil {
		return err
	}
	e, root := nested.Edit(0), nested.Documents()[0].Root()
	if !keep {
		c.removeMigration(in, e, root)
	}
	if tag != "" {
		e.Set(root.Get("image", "tag"), tag)
	}
	return nil
}

// removeMigration takes away the flag, the configuration's argument, and what
// rke-lm has mounted for it.
func (c Chart) removeMigration(in *yamledit.Embedded, e *yamledit.Edit, root yamledit.Node) {
	list := root.Get("args")
	args.Remove(e, list, LeaderFlag)
	args.Remove(e, list, leadermigration.ConfigFlag)
	if !c.OwnConfig() {
		return
	}
	removeMount(e, root, MigrationConfigMap)
	if i := FindMigrationConfig(in.Documents()); i >= 0 {
		in.Remove(i)
	}
}

// StartMigrating queues the reverse of StopMigrating, but for the ConfigMap. The
// arguments stand where the values for the cluster's minor have them, and last
// among other arguments.
func (c Chart) StartMigrating(in *yamledit.Embedded, o Options) error {
	if !c.Values.Get("args").IsList() {
		return c.Root.Errorf("its values list no arguments", "add --"+LeaderFlag+"=true by hand")
	}
	nested, err := in.Edit(c.Index).Embedded(c.Root.Get("spec", valuesKey))
	if err != nil {
		return err
	}
	e, root := nested.Edit(0), nested.Documents()[0].Root()
	list := root.Get("args")
	at := o.flagPlace(list)
	e.InsertItem(list, at, "--"+LeaderFlag+"=true")
	if o.MigrationConfig {
		e.InsertItem(list, at, migrationArg)
		addMounts(e, root, migrationMount)
	}
	return nil
}

// flagPlace returns where the flag belongs in a list that lacks it, and the
// configuration's argument.
func (o Options) flagPlace(list yamledit.Node) int {
	base, _ := values.ForMinor(o.Distro, o.Minor)
	d, err := yamledit.ParseString("values.yaml", o.adapt(base, nil))
	if err != nil {
		return list.Len()
	}
	ours := args.Of(d.Root().Get("args").Value())
	i := slices.IndexFunc(ours, func(a args.Arg) bool { return a.Name == LeaderFlag })
	if i < 0 || !slices.Equal(args.Without(ours, LeaderFlag, leadermigration.ConfigFlag), args.Of(list.Value())) {
		return list.Len()
	}
	return i
}
