// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Added returns the chart of a manifest of Manifest that is to be added to others, as what is
// there already will change it.
func Added(there helmchart.Sources, manifest string) (Chart, error) {
	docs, err := yamledit.ParseStream(manifest)
	charts := helmchart.Charts(docs)
	if err != nil || len(charts) != 1 { // the repository and the versions are the operator's words
		return Chart{}, cmp.Or(err, errors.New("the manifests to be added hold no HelmChart"))
	}
	r, err := there.Read(charts[0], publishedValues)
	return Chart{r}, err
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

// managerName is part of the name of what runs the cloud-controller-manager of any cloud: of its
// chart, image or object.
var managerName = regexp.MustCompile(`cloud-controller|cloud-provider|\b(ccm|cpi)\b`)

// OtherManager returns the name of a HelmChart or workload that runs the cloud-controller-manager
// of a cloud that is not AWS; "" for none.
func OtherManager(docs []*yamledit.Document) string {
	for _, d := range docs {
		root := d.Root()
		names := []string{root.StringAt("metadata", "name")}
		switch root.StringAt("kind") {
		case "HelmChart":
			names = append(names, root.StringAt("spec", "chart"))
		case "DaemonSet", "Deployment":
			for _, c := range root.Get("spec", "template", "spec", "containers").Items() {
				names = append(names, c.StringAt("image"))
			}
		default:
			continue
		}
		if all := strings.ToLower(strings.Join(names, " ")); managerName.MatchString(all) && !strings.Contains(all, aws.Name) {
			return names[0]
		}
	}
	return ""
}
