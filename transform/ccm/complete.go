// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// valuesKey is the field that stages give values to.
const valuesKey = "valuesContent"

// Complete queues what a chart that is already there lacks for the migration.
func (c Chart) Complete(ed Edits, o Options, nodes []NodeClass) error {
	outer := ed.In.Edit(c.Index)
	spec := c.Root.Get("spec")
	if c.Version() == "" && !c.Packed() {
		outer.Insert(spec, "version", o.Version())
	}
	if policy, of := c.FailurePolicy(); policy == "" && !of.Spec("failurePolicy").Exists() {
		outer.Insert(spec, "failurePolicy", "abort")
	}
	base, ok := o.base()
	if !ok && (!c.Base().Root.IsMap() || c.lacksTag(o)) {
		return o.Unknown(c.Root)
	}
	if err := c.checkMounting(o); err != nil {
		return err
	}
	if c.Base().Root.IsMap() {
		return c.completeValues(ed, o, nodes)
	}
	text := o.adapt(base, nodes)
	outer.Put(spec, strings.TrimSuffix(text, "\n"), valuesKey)
	return c.CompleteOver(ed, text, o, nodes)
}

// CompleteOver queues what sources of values take from a chart that gets the given
// ones as its valuesContent.
func (c Chart) CompleteOver(ed Edits, text string, o Options, nodes []NodeClass) error {
	fresh, err := yamledit.ParseString(ValuesFile, text)
	if err != nil {
		return err
	}
	r, err := c.Rebase(fresh.Root())
	if err != nil {
		return err
	}
	return Chart{r}.completeValues(ed, o, nodes)
}

// completeValues changes only what is missing or does not work.
func (c Chart) completeValues(ed Edits, o Options, nodes []NodeClass) error {
	at := c.placer(ed)
	if c.lacksTag(o) {
		if err := c.fill(at, o.Tag(), "image", "tag"); err != nil {
			return err
		}
	}
	if err := c.completeArgs(at, o); err != nil {
		return err
	}
	if !c.States("hostNetworking") && c.Value("hostNetworking") != true {
		if err := c.fill(at, true, "hostNetworking"); err != nil {
			return err
		}
	}
	if err := addMounts(at, c.missingMounts(o)...); err != nil {
		return err
	}
	return c.completeScheduling(at, o, nodes)
}

// lacksTag reports whether the image has no tag, or the one that an archive has for
// another minor.
func (c Chart) lacksTag(o Options) bool {
	return c.ImageTag() == "" || !c.States("image", "tag") && c.ImageMinor() != o.Minor
}

// fill writes a value, unless the file does not show what is there.
func (c Chart) fill(at placer, v any, path ...string) error {
	if _, unseen := c.Unknown(path...); unseen {
		return nil
	}
	p, err := at(path...)
	if err == nil {
		p.put(v, path...)
	}
	return err
}

// missingArgs returns the arguments that the chart lacks.
func (c Chart) missingArgs(o Options) []string {
	var missing []string
	if c.LacksProvider() {
		missing = append(missing, providerArg)
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
	return append(missing, dashed(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings()))...)
}

// dashed are arguments as the chart has them.
func dashed(list []args.Arg) []string {
	return lists.Map(list, func(a args.Arg) string { return "--" + a.Text })
}

// HasShortLeases reports whether the manager has the timings of short leases.
func (c Chart) HasShortLeases() bool {
	return leadermigration.HasTimings(c.Args(), leadermigration.CloudTimings())
}

func (c Chart) completeArgs(at placer, o Options) error {
	missing := c.missingArgs(o)
	migrates := !o.LeaderMigration && c.Migrates()
	if len(missing) == 0 && !migrates {
		return nil
	}
	if unseen, hidden := c.Unknown(argsKey); hidden {
		return unseen.At.Errorf("the arguments of the chart depend on "+unseen.Name+", which the file does not show",
			"list all arguments as args in valuesContent, with "+strings.Join(missing, " "))
	}
	p, err := at(argsKey)
	if err != nil {
		return err
	}
	list, err := p.list(argsKey)
	if err != nil {
		return err
	}
	if migrates {
		args.Remove(p.edit, list, LeaderFlag) // only a list has it
	}
	switch {
	case len(missing) == 0:
	case list.IsList():
		for _, m := range missing {
			if !args.Rewrite(p.edit, list, m) {
				p.edit.Append(list, m)
			}
		}
	default:
		all := slices.Clone(c.list(argsKey))
		if len(all) == 0 {
			all = slices.Clone(defaultArgs)
		}
		for _, m := range missing {
			all = append(all, m)
		}
		p.put(all, argsKey)
	}
	return nil
}

func (c Chart) lacksCloudConfig() bool { return !args.Has(c.Args(), "cloud-config") }

// lacksConfig reports whether the options require a configuration that the chart
// does not have.
func (c Chart) lacksConfig(o Options) bool { return o.MigrationConfig && c.ConfigFile() == "" }

// missingMounts returns what Complete has to mount.
func (c Chart) missingMounts(o Options) []mount {
	var missing []mount
	if c.lacksConfig(o) && !c.mounts(migrationMount) {
		missing = append(missing, migrationMount)
	}
	if o.CloudConfig && c.lacksCloudConfig() && !c.mounts(cloudConfigMount) {
		missing = append(missing, cloudConfigMount)
	}
	return missing
}

func (c Chart) checkMounting(o Options) error {
	if len(c.missingMounts(o)) == 0 {
		return nil
	}
	return checkMounting(yamledit.First(c.Root.Get("spec", "version"), c.Root.Get("spec")), cmp.Or(c.Version(), o.Version()))
}
