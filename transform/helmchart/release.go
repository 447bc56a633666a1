// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"slices"

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
}

// Known returns the values of a chart that is not in the file, where they are known.
type Known func(Reference) (values map[string]any, known bool)

// Read reads a HelmChart.
func (s Sources) Read(c Chart, known Known) (Release, error) {
	r := Release{Chart: c, Reference: ParseReference(c.text("chart"))}
	r.Layers = []Layer{r.own(known)}
	if err := s.readObject(&r, c, "HelmChart"); err != nil {
		return r, err
	}
	if err := s.readConfig(&r); err != nil {
		return r, err
	}
	set, err := c.setLayers()
	if err != nil {
		return r, err
	}
	return r.with(append(r.Layers, set...))
}

// Alone returns a release of values that no object holds.
func Alone(own map[string]any, values yamledit.Node) (Release, error) {
	base, err := Layer{Form: Mapping, Index: InFile, At: values, Root: values}.read()
	if err != nil {
		return Release{}, err
	}
	return Release{Chart: Chart{Index: InFile, Root: values}}.with([]Layer{{Form: Own, values: own}, base})
}

func (r Release) with(layers []Layer) (Release, error) {
	var err error
	for i := range layers {
		layers[i].order = i
	}
	r.Layers = layers
	if r.given, err = given(layers); err == nil {
		r.values = coalesce(r.given, layers[0].values)
	}
	return r, err
}

// own returns the chart's own values.
func (r *Release) own(known Known) Layer {
	l := Layer{Form: Own, Name: "values.yaml of the chart", Index: r.Index, At: r.Spec("chart")}
	if content := r.text(contentKey); content != "" {
		l.At = r.Spec(contentKey)
		a, err := Unpack(content)
		if r.ArchiveErr = err; err == nil {
			r.Archive = &a
			l.values, _ = a.Values.Value().(map[string]any)
			return l
		}
		l.unknown = true
		return l
	}
	values, isKnown := known(r.Reference)
	if l.unknown = !isKnown; isKnown {
		l.values = values
	}
	return l
}

// readObject adds the values of a HelmChart or HelmChartConfig.
func (s Sources) readObject(r *Release, o Chart, kind string) error {
	of := " of " + kind + " " + o.Namespace() + "/" + o.Name()
	content, err := contentLayer(Layer{Name: "valuesContent" + of, Index: o.Index, At: o.Spec("valuesContent")})
	if err != nil {
		return err
	}
	r.Layers = append(r.Layers, content)
	if at := o.Spec("values"); s.Fields.Values && at.Exists() {
		l, err := Layer{Form: Mapping, Name: "values" + of, Index: o.Index, At: at, Root: at}.read()
		if err != nil {
			return err
		}
		r.Layers = append(r.Layers, l)
	}
	for _, secret := range o.secrets() {
		if s.Fields.ValuesSecrets {
			name := "Secret " + o.Namespace() + "/" + secret.StringAt("name") + " (valuesSecrets" + of + ")"
			r.Layers = append(r.Layers, Layer{Form: Secret, Name: name, Index: o.Index, At: secret, unknown: true})
		}
	}
	return nil
}

// secrets returns the entries of valuesSecrets that helm-controller uses.
func (c Chart) secrets() []yamledit.Node {
	return slices.DeleteFunc(c.Spec("valuesSecrets").Items(), func(n yamledit.Node) bool {
		return n.Get("keys").Len() == 0 || n.StringAt("name") == "chart-values-"+c.Name()
	})
}

// readConfig adds the values of the HelmChartConfig with the chart's namespace and
// name. Rancher's overwrites one of the manifests.
func (s Sources) readConfig(r *Release) error {
	if s.configs == nil {
		s = s.Indexed()
	}
	r.config = s.configs[r.Namespace()+"/"+r.Name()]
	if own := s.ChartValues.Get(r.Name()); r.Namespace() == "kube-system" && own.Exists() {
		r.twice = r.config.Root.Exists()
		l := Layer{Form: Mapping, Name: "chartValues." + r.Name(), Index: InFile, At: own}
		if own.IsMap() { // Rancher takes anything else for an empty one
			l.Root = own
		}
		l, err := l.read()
		r.Layers = append(r.Layers, l)
		return err
	}
	if !r.config.Root.Exists() {
		return nil
	}
	return s.readObject(r, r.config, "HelmChartConfig")
}

// Ignored returns the fields of the release's objects that have no effect.
func (s Sources) Ignored(r Release) []Layer {
	var found []Layer
	for _, o := range []Chart{r.Chart, r.config} {
		for _, field := range []struct {
			key   string
			known bool
		}{{"values", s.Fields.Values}, {"valuesSecrets", s.Fields.ValuesSecrets}} {
			if at := o.Spec(field.key); !field.known && at.Exists() && !at.IsNull() {
				found = append(found, Layer{Name: field.key, Index: o.Index, At: at})
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
