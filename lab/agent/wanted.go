// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent plays what runs on machines: the kubelets of control planes, which run the real managers with the
// arguments that the files written by rke-lm give them, RKE2, and Rancher's system-agent.
//
// Invariant: a manager runs with what the file says and with nothing that the file does not say, except
// the addresses of the lab. When the file changes, machines follow one at a time.
package agent

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Wanted is what a cluster's files require.
type Wanted struct {
	// KCM holds the arguments of kube-controller-manager.
	KCM []string
	// CloudConfig is its configuration of the provider, "" for none.
	CloudConfig string
	// External reports whether kubelets leave their nodes to a cloud-controller-manager.
	External bool
	// CCM is the cloud-controller-manager, if there is one.
	CCM *Chart
	// Manifests are the objects to be applied, without the charts.
	Manifests []*yamledit.Document
}

// Chart is the cloud-controller-manager as its chart installs it.
type Chart struct {
	Minor  string // of its image, such as "v1.26"
	Args   []string
	Values any // the chart's values, as read
	// CloudConfig is the configuration of the provider that the values mount, "" for none.
	CloudConfig string
}

// FromRKE2 reads what a document of an RKE2 cluster asks for on the control planes of a machine class.
func FromRKE2(doc *yamledit.Document, class string) (Wanted, error) {
	c, err := rke2.Open(doc, transform.Target{})
	if err != nil {
		return Wanted{}, err
	}
	i := slices.IndexFunc(c.Classes, func(c effective.Class) bool { return c.Name == class && c.ControlPlane() })
	if i < 0 {
		return Wanted{}, fmt.Errorf("agent: the cluster has no control planes of class %q", class)
	}
	config := c.Effective(c.Classes[i])
	if on, _ := config["disable-cloud-controller"].Value.(bool); !on && config["cloud-provider-name"].Value == nil {
		return Wanted{}, fmt.Errorf("agent: machines of class %q would run RKE2's own cloud controller, which the lab does not have", class)
	}
	w := Wanted{KCM: componentArgs(c.Version, config, "kube-controller-manager-arg"), External: external(componentArgs(c.Version, config, "kubelet-arg"))}
	manifest := c.RKEConfig().Get("additionalManifest")
	if !manifest.Exists() || manifest.IsNull() {
		return w, nil
	}
	embedded, err := manifest.Embedded()
	if err != nil {
		return Wanted{}, err
	}
	return w, w.readManifest(c.ChartSources(embedded.Documents()))
}

// componentArgs returns the arguments of a component.
func componentArgs(version string, config effective.Config, key string) []string {
	return ranchertest.Arguments(version, config["cloud-provider-name"].Value, config[key].Value)
}

// external reports whether the last --cloud-provider is external.
func external(list []string) bool { return ranchertest.Provider(list) == string(cluster.External) }

// readManifest parts the charts from the objects.
func (w *Wanted) readManifest(s helmchart.Sources) error {
	for _, d := range s.Docs {
		version, _ := d.Root().Get("apiVersion").String()
		if d.Root().IsMap() && !strings.HasPrefix(version, "helm.cattle.io/") {
			w.Manifests = append(w.Manifests, d)
		}
	}
	chart, found, err := ccm.Find(s)
	if err != nil || !found {
		return err
	}
	w.CCM = &Chart{Minor: semver.MajorMinor(chart.ImageTag()), Values: chart.Given()}
	for _, a := range chart.Args() {
		w.CCM.Args = append(w.CCM.Args, a.Text)
	}
	return nil
}

// specs returns the managers of a machine.
func (w Wanted) specs(machine string) []cluster.Spec {
	list := []cluster.Spec{{Component: cluster.KCM, Machine: machine, Args: w.KCM, CloudConfig: w.CloudConfig}}
	if w.CCM != nil {
		list = append(list, cluster.Spec{Component: cluster.CCM, Machine: machine, Minor: w.CCM.Minor, Args: w.CCM.Args, CloudConfig: w.CCM.CloudConfig})
	}
	return list
}
