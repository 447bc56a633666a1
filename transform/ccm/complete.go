// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Complete queues what a chart that is already there lacks for the migration.
// in is the manifest that holds it.
func (c Chart) Complete(in *yamledit.Embedded, o Options, nodes []NodeClass) error {
	outer := in.Edit(c.Index)
	spec := c.Root.Get("spec")
	if c.Version() == "" {
		outer.Insert(spec, "version", o.Version())
	}
	if !spec.Get("failurePolicy").Exists() {
		outer.Insert(spec, "failurePolicy", "abort")
	}
	base, ok := values.ForMinor(o.Distro, o.Minor)
	if !ok {
		return c.Root.Errorf("no values are known for Kubernetes "+o.Minor, "add the arguments by hand")
	}
	if err := c.checkMounting(o); err != nil {
		return err
	}
	at := spec.Get(valuesKey)
	if !c.Values.IsMap() {
		text := strings.TrimSuffix(o.adapt(base, nodes), "\n")
		if at.Exists() {
			outer.Set(at, text)
		} else {
			outer.Insert(spec, valuesKey, text)
		}
		return nil
	}
	nested, err := outer.Embedded(at)
	if err != nil {
		return err
	}
	return c.completeValues(nested, o, nodes)
}

// completeValues changes only what is missing or does not work.
func (c Chart) completeValues(nested *yamledit.Embedded, o Options, nodes []NodeClass) error {
	e := nested.Edit(0)
	root := nested.Documents()[0].Root()
	if c.ImageTag() == "" {
		if image := root.Get("image"); image.IsMap() {
			e.Insert(image, "tag", o.Tag())
		} else {
			e.Insert(root, "image", yamledit.Map{{Key: "tag", Value: o.Tag()}})
		}
	}
	c.completeArgs(e, root, o)
	if !root.Get("hostNetworking").Exists() {
		e.Insert(root, "hostNetworking", true)
	}
	addMounts(e, root, c.missingMounts(o)...)
	return c.completeScheduling(e, root, nodes)
}

func (c Chart) completeArgs(e *yamledit.Edit, root yamledit.Node, o Options) {
	var missing []string
	if c.LacksProvider() {
		missing = append(missing, "--cloud-provider=aws")
	}
	if c.RoutesUnsafe() {
		missing = append(missing, "--configure-cloud-routes=false")
	}
	if o.LeaderMigration && !c.Migrates() {
		missing = append(missing, "--"+LeaderFlag+"=true")
	}
	if c.lacksConfig(o) {
		missing = append(missing, migrationArg)
	}
	if o.CloudConfig && c.lacksCloudConfig() {
		missing = append(missing, cloudConfigArg)
	}
	at := root.Get("args")
	if !o.LeaderMigration && c.Migrates() {
		args.Remove(e, at, LeaderFlag) // only a list has it
	}
	switch {
	case len(missing) == 0:
	case at.IsList():
		for _, m := range missing {
			if !args.Rewrite(e, at, m) {
				e.Append(at, m)
			}
		}
	default:
		var all []any
		all = append(all, defaultArgs...)
		for _, m := range missing {
			all = append(all, m)
		}
		if at.Exists() {
			e.Set(at, all)
		} else {
			e.Insert(root, "args", all)
		}
	}
}

func (c Chart) lacksCloudConfig() bool {
	_, set := args.Last(c.Args(), "cloud-config")
	return !set
}

// lacksConfig reports whether the options ask for a configuration that the chart
// does not have.
func (c Chart) lacksConfig(o Options) bool { return o.MigrationConfig && c.ConfigFile() == "" }

// missingMounts returns what Complete has to mount.
func (c Chart) missingMounts(o Options) []mount {
	var missing []mount
	if c.lacksConfig(o) {
		missing = append(missing, migrationMount)
	}
	if o.CloudConfig && c.lacksCloudConfig() {
		missing = append(missing, cloudConfigMount)
	}
	return missing
}

func (c Chart) checkMounting(o Options) error {
	if len(c.missingMounts(o)) == 0 {
		return nil
	}
	at := c.Root.Get("spec", "version")
	if !at.Exists() {
		at = c.Root.Get("spec")
	}
	return checkMounting(at, or(c.Version(), o.Version()))
}

func setOrInsert(e *yamledit.Edit, m yamledit.Node, key string, v any) {
	if n := m.Get(key); n.Exists() {
		e.Set(n, v)
	} else {
		e.Insert(m, key, v)
	}
}
