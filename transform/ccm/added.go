// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"errors"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Added returns the chart among manifests that are to be added to others, as what
// is there already will change it, and the text of its values.
func Added(there helmchart.Sources, docs []*yamledit.Document) (Chart, string, error) {
	charts := helmchart.Charts(docs)
	if len(charts) != 1 {
		return Chart{}, "", errors.New("the manifests to be added hold no HelmChart")
	}
	r, err := there.Read(charts[0], publishedValues)
	return Chart{r}, charts[0].Spec(valuesKey).StringAt(), err
}

// FromValues returns a chart from values without a chart around them.
func FromValues(root yamledit.Node) (Chart, error) {
	r, err := helmchart.Alone(defaultValues, root)
	return Chart{r}, err
}

// File returns the values of the chart as a file for helm; "" where it has none.
// Values of several sources are written merged.
func (c Chart) File() (string, error) {
	base := c.Base()
	if !c.Overrides() {
		if !base.Root.Exists() {
			return "", nil
		}
		return strings.TrimSuffix(string(base.Root.Document().Bytes()), "\n") + "\n", nil
	}
	text, err := yaml.Marshal(c.Given())
	return string(text), err
}
