// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rke1Names are the keys of RKE's configuration in one spelling.
type rke1Names struct {
	root                              []string
	manager, extraArgs, cloudProvider string
}

// rke1Spellings are cluster.yml, the same as Rancher shows it, and Rancher's API.
var rke1Spellings = []rke1Names{
	{nil, "kube-controller", "extra_args", "cloud_provider"},
	{[]string{"rancher_kubernetes_engine_config"}, "kube-controller", "extra_args", "cloud_provider"},
	{[]string{"rancherKubernetesEngineConfig"}, "kubeController", "extraArgs", "cloudProvider"},
}

// FromRKE1 reads what a cluster.yml asks for on control planes. values are those of the
// cloud-controller-manager's chart, which RKE1 does not install by itself; nil stands for no chart.
func FromRKE1(doc, values *yamledit.Document) (Wanted, error) {
	for _, names := range rke1Spellings {
		root := doc.Root().Get(names.root...)
		if !root.Get("services", names.manager).Exists() && !root.Get(names.cloudProvider).Exists() {
			continue
		}
		w, err := names.read(root)
		if err != nil || values == nil {
			return w, err
		}
		w.CCM, err = chartOf(values)
		return w, err
	}
	return Wanted{}, fmt.Errorf("agent: %s: no configuration of RKE", doc.File())
}

func (n rke1Names) read(root yamledit.Node) (Wanted, error) {
	provider := n.provider(root.Get(n.cloudProvider))
	given := map[string]string{}
	if provider != "" {
		given["cloud-provider"] = provider
	}
	for _, e := range root.Get("services", n.manager, n.extraArgs).Entries() {
		given[e.Key] = fmt.Sprint(e.Value.Value())
	}
	w := Wanted{External: provider == "external"}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		w.KCM = append(w.KCM, "--"+name+"="+given[name])
	}
	addons := root.Get("addons")
	if !addons.Exists() || addons.IsNull() {
		return w, nil
	}
	embedded, err := addons.Embedded()
	if err != nil {
		return Wanted{}, err
	}
	return w, w.readManifest(embedded.Documents())
}

// provider returns the --cloud-provider that RKE gives the components: its block of AWS settings brings
// the in-tree provider back, whatever the name says (rke, cluster/cloud-provider.go).
func (n rke1Names) provider(at yamledit.Node) string {
	name, _ := at.Get("name").String()
	switch {
	case at.Get("awsCloudProvider").Exists():
		return "aws"
	case name == "external-aws":
		return "external"
	}
	return name
}

// chartOf reads the manager that a chart's values describe.
func chartOf(values *yamledit.Document) (*Chart, error) {
	tag, _ := values.Root().Get("image", "tag").String()
	chart := &Chart{Minor: semver.MajorMinor(tag), Values: values.Root().Value()}
	for _, n := range values.Root().Get("args").Items() {
		text, ok := n.String()
		if !ok {
			return nil, n.Errorf("an argument that is no string", "quote it")
		}
		chart.Args = append(chart.Args, text)
	}
	return chart, nil
}
