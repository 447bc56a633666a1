// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// DefaultTag returns the image tag for a format and a cluster minor, or "".
func DefaultTag(format, minor string) string {
	text, _ := values.ForMinor(format, minor)
	return parsed(text).StringAt("image", "tag")
}

// parsed returns the root of values that are embedded, or made from those: tests parse them all.
func parsed(text string) yamledit.Node {
	d, err := yamledit.ParseString(ValuesFile, text)
	if err != nil {
		return yamledit.Node{}
	}
	return d.Root()
}

// TestedTag returns the image tag for a cluster's release, or "": it is the same
// for every format that has the minor.
func TestedTag(release string) string {
	tags := lists.Map(values.Formats(), func(format string) string { return DefaultTag(format, semver.MajorMinor(release)) })
	return cmp.Or(tags...)
}

// Known states the minors for which an image is known, such as "1.22 to 1.36".
func Known(format string) string {
	minors := values.Minors(format)
	return minors[0][1:] + " to " + minors[len(minors)-1][1:]
}

// Unknown is the error for a minor without one.
func (o Options) Unknown(at yamledit.Node) error {
	return at.Errorf("no cloud-controller-manager image is known for Kubernetes "+strings.TrimPrefix(o.Minor, "v")+", but for "+Known(o.Format), "name one with --ccm-image-tag")
}

// base returns the values that the choices are brought into: those of the minor, or with a tag
// that the operator chose, of a later one that no image is known for.
func (o Options) base() (string, bool) {
	if o.ImageTag == "" {
		return values.ForMinor(o.Format, o.Minor)
	}
	return values.Base(o.Format, o.Minor)
}

// Manifest returns a HelmChart with the values for the cluster's minor, whose pods
// land on all the given nodes; false says that there are none for it.
func Manifest(o Options, nodes []NodeClass) (string, bool) {
	text, ok := Values(o, nodes)
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

// Values returns the chart's values for the cluster's minor, with which its pods
// land on all the given nodes; false says that there are none for it.
func Values(o Options, nodes []NodeClass) (string, bool) {
	base, ok := o.base()
	if !ok {
		return "", false
	}
	return o.adapt(base, nodes), true
}

// adapt brings the operator's choices into the values of a minor.
func (o Options) adapt(base string, nodes []NodeClass) string {
	root := parsed(base)
	e := root.Document().Edit()
	if o.ImageTag != "" {
		e.Set(root.Get("image", "tag"), o.ImageTag)
	}
	if o.ImageRepository != "" {
		e.Insert(root.Get("image"), "repository", o.ImageRepository)
	}
	if !o.LeaderMigration {
		args.Remove(e, root.Get("args"), LeaderFlag)
	}
	var mounts []mount
	if o.MigrationConfig {
		e.Append(root.Get("args"), migrationArg)
		mounts = append(mounts, migrationMount)
	}
	if o.CloudConfig {
		e.Append(root.Get("args"), cloudConfigArg)
		mounts = append(mounts, cloudConfigMount)
	}
	for _, a := range dashed(leadermigration.Missing(o.ShortLeases, nil, leadermigration.CloudTimings())) {
		e.Append(root.Get("args"), a)
	}
	c, _ := FromValues(root) // rke-lm's own values are a mapping, so this cannot fail
	w := writing{c, Edits{File: e}}
	w.addMounts(mounts...)
	w.completeScheduling(o, nodes)
	after, _, err := e.Apply()
	if err != nil {
		return base
	}
	return string(after.Bytes())
}

// Edits are the edits that a chart may take part in. The nodes of a chart that is
// changed are those of these edits.
type Edits struct {
	File *yamledit.Edit     // of the cluster's file; it keeps the first error
	In   *yamledit.Embedded // of the manifests in it; nil where there are none
}

// writing is a chart of which each value is written where it takes effect.
type writing struct {
	Chart
	ed Edits
}

// place is where a value of the chart is written.
type place struct {
	layer helmchart.Layer
	edit  *yamledit.Edit
	root  yamledit.Node // the values of the layer
}

// place finds the layer that decides about a path. The edit fails where a later one may take
// the value back, which the file does not show.
func (w writing) place(path ...string) place {
	l := w.Decider(path...)
	unseen, hidden := w.After(l)
	switch {
	case hidden:
		w.ed.File.Fail(unseen.At.Errorf(unseen.Name+" comes after "+l.Name+" and can set "+key(path)+", which the file does not show",
			"set "+key(path)+" where nothing comes after it, in valuesContent of a HelmChartConfig of the same name"))
	case l.Form == helmchart.Content && !l.Root.Exists():
		w.ed.File.Fail(w.Root.Get("spec").Errorf("the chart's default values set "+key(path)+", and the HelmChart has none", "add valuesContent with "+key(path)))
	default:
		return w.ed.open(l)
	}
	return place{edit: w.ed.File}
}

// open returns the place of a layer.
func (ed Edits) open(l helmchart.Layer) place {
	p := place{layer: l, edit: ed.File, root: l.Root}
	if l.Index != helmchart.InFile {
		p.edit = ed.In.Edit(l.Index)
	}
	if l.Form != helmchart.Content {
		return p
	}
	nested, err := p.edit.Embedded(l.At)
	if ed.File.Fail(err); err != nil {
		return place{edit: ed.File}
	}
	p.edit, p.root = nested.Edit(0), nested.Documents()[0].Root()
	return p
}

// list returns a list and its place. The edit fails for an entry of spec.set, which takes no items.
func (w writing) list(key string) (place, yamledit.Node) {
	p := w.place(key)
	if p.layer.Form == helmchart.Entry {
		w.ed.File.Fail(p.layer.At.Errorf("spec.set sets "+key+" of the chart, and rke-lm does not edit its entries",
			"move "+key+" to valuesContent and remove the entry"))
	}
	return p, p.root.Get(key)
}

// add appends items to a list, or writes one that has them.
func (w writing) add(key string, items ...any) {
	if len(items) == 0 {
		return
	}
	p, list := w.list(key)
	if len(list.Items()) == 0 {
		p.put(items, key)
		return
	}
	for _, v := range items {
		p.edit.Append(list, v)
	}
}

// fill writes a value, unless the file does not show what is there.
func (w writing) fill(v any, path ...string) {
	if _, unseen := w.Unknown(path...); !unseen {
		w.place(path...).put(v, path...)
	}
}

// put writes a value at a path.
func (p place) put(v any, path ...string) {
	if p.layer.Form == helmchart.Entry {
		p.edit.Set(p.layer.At, v)
	} else {
		p.edit.Put(p.root, v, path...)
	}
}

// key writes a path as spec.set does.
func key(path []string) string { return strings.Join(path, ".") }

// Documents returns the manifests that the edits are of.
func (ed Edits) Documents() []*yamledit.Document {
	if ed.In == nil {
		return nil
	}
	return ed.In.Documents()
}
