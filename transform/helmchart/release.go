// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Sources are where a cluster's file may hold charts and values.
type Sources struct {
	Docs []*yamledit.Document // the manifests
	// ChartValues are values by the names of charts. Rancher writes each as a
	// HelmChartConfig in kube-system (rancher pkg/capr/planner/config.go,
	// addChartConfigs).
	ChartValues yamledit.Node
	Fields      Fields // that the cluster's helm-controller knows

	configs map[string]Chart // HelmChartConfigs by namespace and name
}

// Indexed returns the same with what many HelmCharts need found once.
func (s Sources) Indexed() Sources {
	s.configs = map[string]Chart{}
	for _, o := range objects(s.Docs, "HelmChartConfig") {
		s.configs[o.Namespace()+"/"+o.Name()] = o // the last one overwrites the others
	}
	return s
}

// Fields are those of HelmChart and HelmChartConfig that not every release knows.
// What a release does not know has no effect.
type Fields struct {
	Values        bool
	ValuesSecrets bool
}

// Release is what a HelmChart installs: a chart, and values in the order of their
// merge.
type Release struct {
	Chart
	Reference  Reference
	Archive    *Archive // of chartContent, if it can be read
	ArchiveErr error    // why it cannot
	Layers     []Layer  // the first is the chart's own values

	config Chart          // the HelmChartConfig of the same name; may not exist
	twice  bool           // chartValues make another one
	given  map[string]any // values, without the chart's own
	values map[string]any // with them
	err    error          // of the first layer that cannot be read
}

// Known returns the values of a chart that is not in the file; nil where they are not known.
type Known func(Reference) map[string]any

// Read reads a HelmChart.
func (s Sources) Read(c Chart, known Known) (Release, error) {
	r := Release{Chart: c, Reference: ParseReference(c.text("chart"))}
	r.addOwn(known)
	s.addObject(&r, c, "HelmChart")
	s.addConfig(&r)
	r.addSet()
	return r.merged()
}

// Alone returns a release of values that no object holds.
func Alone(own map[string]any, values yamledit.Node) (Release, error) {
	r := Release{Chart: Chart{Index: InFile, Root: values}}
	r.add(Layer{Form: Own, values: own})
	r.add(Layer{Form: Mapping, Index: InFile, At: values, Root: values})
	return r.merged()
}

// add reads a layer and appends it, unless that one or one before it cannot be read.
func (r *Release) add(l Layer) {
	if r.err == nil {
		l, r.err = l.read()
	}
	if r.err == nil {
		l.order = len(r.Layers)
		r.Layers = append(r.Layers, l)
	}
}

// merged returns the release with the values that its layers make.
func (r Release) merged() (Release, error) {
	if r.err == nil {
		r.given, r.err = given(r.Layers)
	}
	if r.err == nil {
		r.values = coalesce(r.given, r.Layers[0].values)
	}
	return r, r.err
}

// addOwn adds the chart's own values.
func (r *Release) addOwn(known Known) {
	l := Layer{Form: Own, Name: "values.yaml of the chart", Index: r.Index, At: r.Spec("chart")}
	if content := r.text(contentKey); content == "" {
		l.values = known(r.Reference)
		l.Unknown = l.values == nil
	} else {
		l.At = r.Spec(contentKey)
		r.Archive, r.ArchiveErr = Unpack(content)
		if l.Unknown = r.Archive == nil; r.Archive != nil {
			l.values, _ = r.Archive.Values.Value().(map[string]any)
		}
	}
	r.add(l)
}

// addObject adds the values of a HelmChart or HelmChartConfig.
func (s Sources) addObject(r *Release, o Chart, kind string) {
	of := " of " + kind + " " + o.Namespace() + "/" + o.Name()
	r.add(Layer{Form: Content, Name: "valuesContent" + of, Index: o.Index, At: o.Spec("valuesContent")})
	if at := o.Spec("values"); s.Fields.Values && at.Exists() {
		r.add(Layer{Form: Mapping, Name: "values" + of, Index: o.Index, At: at, Root: at})
	}
	for _, secret := range o.secrets() {
		if s.Fields.ValuesSecrets {
			name := "Secret " + o.Namespace() + "/" + secret.StringAt("name") + " (valuesSecrets" + of + ")"
			r.add(Layer{Form: Secret, Name: name, Index: o.Index, At: secret, Unknown: true})
		}
	}
}

// secrets returns the entries of valuesSecrets that helm-controller uses.
func (c Chart) secrets() []yamledit.Node {
	return slices.DeleteFunc(c.Spec("valuesSecrets").Items(), func(n yamledit.Node) bool {
		return n.Get("keys").Len() == 0 || n.StringAt("name") == "chart-values-"+c.Name()
	})
}

// addConfig adds the values of the HelmChartConfig with the chart's namespace and
// name. Rancher's overwrites one of the manifests.
func (s Sources) addConfig(r *Release) {
	if s.configs == nil {
		s = s.Indexed()
	}
	r.config = s.configs[r.Namespace()+"/"+r.Name()]
	own := s.ChartValues.Get(r.Name())
	switch {
	case r.Namespace() == "kube-system" && own.Exists():
		r.twice = r.config.Root.Exists()
		l := Layer{Form: Mapping, Name: "chartValues." + r.Name(), Index: InFile, At: own}
		if own.IsMap() { // Rancher takes anything else for an empty one
			l.Root = own
		}
		r.add(l)
	case r.config.Root.Exists():
		s.addObject(r, r.config, "HelmChartConfig")
	}
}

// Ignored returns the fields of the release's objects that have no effect.
func (s Sources) Ignored(r Release) []Layer {
	var found []Layer
	known := map[string]bool{"values": s.Fields.Values, "valuesSecrets": s.Fields.ValuesSecrets}
	for _, o := range []Chart{r.Chart, r.config} {
		for _, key := range lists.Keys(known) {
			if at := o.Spec(key); !known[key] && at.Exists() && !at.IsNull() {
				found = append(found, Layer{Name: key, Index: o.Index, At: at})
			}
		}
	}
	return found
}

// FailurePolicy returns the policy that counts, and the object that states it or
// would.
func (r Release) FailurePolicy() (policy string, of Chart) {
	if p := r.config.text("failurePolicy"); r.config.Root.Exists() && p != "" {
		return p, r.config
	}
	return r.text("failurePolicy"), r.Chart
}

// ConfiguredTwice returns the HelmChartConfig of the manifests that chartValues make
// once more.
func (r Release) ConfiguredTwice() (Chart, bool) { return r.config, r.twice }

// Value returns what reaches the chart at a path, as far as the file shows it.
func (r Release) Value(path ...string) any {
	v, _ := lookup(r.values, path)
	return v
}

// Given returns the values that the file gives to the chart, merged.
func (r Release) Given() map[string]any { return r.given }

// States reports whether the file gives the chart a value at a path.
func (r Release) States(path ...string) bool {
	_, stated := lookup(r.given, path)
	return stated
}

// Unknown returns the last layer that may decide a path in a way that the file
// does not show.
func (r Release) Unknown(path ...string) (Layer, bool) {
	for _, l := range slices.Backward(r.Layers) {
		switch {
		case l.Unknown:
			return l, true
		case l.settles(path):
			return Layer{}, false
		}
	}
	return Layer{}, false
}

// Decider returns the layer that decides a path; without one that the file holds
// it is the first that could, which may not be there yet.
func (r Release) Decider(path ...string) Layer {
	for _, l := range slices.Backward(r.Layers) {
		if _, decided := lookup(l.values, path); decided && l.Form != Own {
			return l
		}
	}
	return r.Base()
}

// Base returns the layer that takes values of which no other has any.
func (r Release) Base() Layer {
	base := lists.Where(r.Layers, func(l Layer) bool { return l.Form == Content || l.Form == Mapping })
	if len(base) > 1 && !base[0].At.Exists() && base[1].Form == Mapping && base[1].Index == r.Index {
		return base[1] // spec.values without spec.valuesContent
	}
	return base[0]
}

// After returns a layer after another one whose values are unknown.
func (r Release) After(layer Layer) (Layer, bool) {
	return lists.Find(r.Layers, func(l Layer) bool { return l.Unknown && l.order > layer.order })
}

// Overrides reports whether anything apart from valuesContent of the HelmChart holds
// values.
func (r Release) Overrides() bool {
	return slices.ContainsFunc(r.Layers, func(l Layer) bool {
		return l.Form != Own && !l.At.Same(r.Spec("valuesContent")) && l.At.Exists()
	})
}

// Rebase returns the release with other values in place of the base.
func (r Release) Rebase(values yamledit.Node) (Release, error) {
	i := r.Base().order
	r.Layers = slices.Clone(r.Layers)
	r.Layers[i], r.err = Layer{Form: Mapping, Index: InFile, At: values, Root: values, order: i}.read()
	return r.merged()
}

// Node returns the node of a path in the layer, or what holds the layer where it
// is not there.
func (l Layer) Node(path ...string) yamledit.Node { return yamledit.First(l.Root.Get(path...), l.At) }
