// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// DefaultTag returns the image tag for a distro and a cluster minor, or "".
func DefaultTag(distro, minor string) string {
	v, ok := values.ForMinor(distro, minor)
	if !ok {
		return ""
	}
	d, err := yamledit.ParseString(minor, v)
	if err != nil {
		return ""
	}
	return text(d.Root(), "image", "tag")
}

// TestedTag returns the image tag for a cluster's release, or "": it is the same
// for every distro.
func TestedTag(release string) string { return DefaultTag("rke2", semver.MajorMinor(release)) }

// Manifest returns a HelmChart with the values for the cluster's minor; false
// says that there are none for it.
func Manifest(o Options) (string, bool) {
	text, ok := Values(o)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString("apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata:\n  name: " + ChartName + "\n  namespace: kube-system\nspec:\n" +
		"  bootstrap: true\n  chart: " + ChartName + "\n  failurePolicy: abort\n  repo: " + o.Repo() + "\n" +
		"  targetNamespace: kube-system\n  " + valuesKey + ": |-\n")
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("  version: " + o.Version() + "\n")
	return b.String(), true
}

// Values returns the chart's values for the cluster's minor; false says that there
// are none for it.
func Values(o Options) (string, bool) {
	base, ok := values.ForMinor(o.Distro, o.Minor)
	if !ok {
		return "", false
	}
	return o.adapt(base), true
}

// adapt brings the operator's choices into the values of a minor.
func (o Options) adapt(base string) string {
	d, err := yamledit.ParseString("values.yaml", base)
	if err != nil {
		return base // the embedded files are tested
	}
	e := d.Edit()
	if o.ImageTag != "" {
		e.Set(d.Root().Get("image", "tag"), o.ImageTag)
	}
	if o.ImageRepository != "" {
		e.Insert(d.Root().Get("image"), "repository", o.ImageRepository)
	}
	if !o.LeaderMigration {
		args.Remove(e, d.Root().Get("args"), LeaderFlag)
	}
	if o.CloudConfig {
		e.Append(d.Root().Get("args"), cloudConfigArg)
		mountCloudConfig(e, d.Root())
	}
	after, _, err := e.Apply()
	if err != nil {
		return base
	}
	return string(after.Bytes())
}

// Complete queues what a chart that is already there lacks for the migration.
// in is the manifest that holds it.
func (c Chart) Complete(in *yamledit.Embedded, o Options, classes []NodeClass) error {
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
	at := spec.Get(valuesKey)
	if !c.Values.IsMap() {
		text := strings.TrimSuffix(o.adapt(base), "\n")
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
	return c.completeValues(nested, o, classes)
}

// completeValues changes only what is missing or does not work.
func (c Chart) completeValues(nested *yamledit.Embedded, o Options, classes []NodeClass) error {
	e := nested.Edit(0)
	root := nested.Documents()[0].Root()
	if c.ImageTag() == "" {
		tag := or(o.ImageTag, DefaultTag(o.Distro, o.Minor))
		if image := root.Get("image"); image.IsMap() {
			e.Insert(image, "tag", tag)
		} else {
			e.Insert(root, "image", yamledit.Map{{Key: "tag", Value: tag}})
		}
	}
	c.completeArgs(e, root, o)
	if !root.Get("hostNetworking").Exists() {
		e.Insert(root, "hostNetworking", true)
	}
	if o.CloudConfig && c.lacksCloudConfig() {
		mountCloudConfig(e, root)
	}
	for _, class := range classes {
		if c.Refuses(class) != "" {
			c.completeScheduling(e, root)
			break
		}
	}
	return nil
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
	if o.CloudConfig && c.lacksCloudConfig() {
		missing = append(missing, cloudConfigArg)
	}
	at := root.Get("args")
	switch {
	case len(missing) == 0:
	case at.IsList():
		for _, name := range []string{LeaderFlag, "configure-cloud-routes", "cloud-provider"} {
			if containsArg(missing, name) {
				args.Remove(e, at, name)
			}
		}
		for _, m := range missing {
			e.Append(at, m)
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

func containsArg(list []string, name string) bool {
	for _, a := range list {
		if args.Parse(a).Name == name {
			return true
		}
	}
	return false
}

// completeScheduling makes the pods land on control planes: the selector's value
// is RKE2's, and Exists tolerates a taint whatever its value.
func (c Chart) completeScheduling(e *yamledit.Edit, root yamledit.Node) {
	const role = "node-role.kubernetes.io/control-plane"
	selector := root.Get("nodeSelector")
	switch {
	case !selector.IsMap():
		setOrInsert(e, root, "nodeSelector", yamledit.Map{{Key: role, Value: "true"}})
	case text(selector, role) != "true":
		setOrInsert(e, selector, role, "true")
	}
	wanted := []any{
		toleration("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
		toleration(role, "NoSchedule"),
		toleration("node-role.kubernetes.io/etcd", "NoExecute"),
	}
	list := root.Get("tolerations")
	if !list.IsList() {
		setOrInsert(e, root, "tolerations", wanted)
		return
	}
	for _, t := range wanted {
		e.Append(list, t)
	}
}

func toleration(key, effect string) yamledit.Map {
	return yamledit.Map{{Key: "key", Value: key}, {Key: "operator", Value: "Exists"}, {Key: "effect", Value: effect}}
}

func setOrInsert(e *yamledit.Edit, m yamledit.Node, key string, v any) {
	if n := m.Get(key); n.Exists() {
		e.Set(n, v)
	} else {
		e.Insert(m, key, v)
	}
}

// StopMigrating queues the end of the migration: the flag goes unless it is to
// be kept, and the image moves to a tag unless that is "".
func (c Chart) StopMigrating(in *yamledit.Embedded, tag string, keep bool) error {
	if (keep || !c.Migrates()) && tag == "" {
		return nil
	}
	nested, err := in.Edit(c.Index).Embedded(c.Root.Get("spec", valuesKey))
	if err != nil {
		return err
	}
	e, root := nested.Edit(0), nested.Documents()[0].Root()
	if !keep {
		args.Remove(e, root.Get("args"), LeaderFlag)
	}
	if tag != "" {
		e.Set(root.Get("image", "tag"), tag)
	}
	return nil
}

// StartMigrating queues the reverse of StopMigrating. The flag stands where the
// values for the cluster's minor have it, and last among other arguments.
func (c Chart) StartMigrating(in *yamledit.Embedded, o Options) error {
	if !c.Values.Get("args").IsList() {
		return c.Root.Errorf("its values list no arguments", "add --"+LeaderFlag+"=true by hand")
	}
	nested, err := in.Edit(c.Index).Embedded(c.Root.Get("spec", valuesKey))
	if err != nil {
		return err
	}
	list := nested.Documents()[0].Root().Get("args")
	nested.Edit(0).InsertItem(list, o.flagPlace(list), "--"+LeaderFlag+"=true")
	return nil
}

// flagPlace returns where the flag belongs in a list that lacks it.
func (o Options) flagPlace(list yamledit.Node) int {
	base, _ := values.ForMinor(o.Distro, o.Minor)
	d, err := yamledit.ParseString("values.yaml", o.adapt(base))
	if err != nil {
		return list.Len()
	}
	ours := args.Of(d.Root().Get("args").Value())
	i := slices.IndexFunc(ours, func(a args.Arg) bool { return a.Name == LeaderFlag })
	if i < 0 || !slices.Equal(args.Without(ours, LeaderFlag), args.Of(list.Value())) {
		return list.Len()
	}
	return i
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
