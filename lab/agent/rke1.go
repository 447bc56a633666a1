// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rancher/rke/cloudprovider/aws"
	"github.com/rancher/rke/types"

	"github.com/rke-lm/rke-lm/transform/helmchart"
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

// rkeOptions are the arguments that RKE gives kube-controller-manager of 1.26 by itself
// (kontainer-driver-metadata), but for the times after which it takes nodes for dead: no kubelet reports here.
var rkeOptions = map[string]string{
	"allocate-node-cidrs": "true", "allow-untagged-cloud": "true", "configure-cloud-routes": "false",
	"enable-hostpath-provisioner": "false", "leader-elect": "true", "profiling": "false", "terminated-pod-gc-threshold": "1000",
}

// rkeFolder is the folder of a machine that RKE mounts into kube-controller-manager.
const rkeFolder = "/etc/kubernetes/"

// Related is what a cluster.yml does not bring: what people install and apply by hand.
type Related struct {
	Values  *yamledit.Document   // of the cloud-controller-manager's chart; nil for no chart
	Objects []*yamledit.Document // the chart mounts some of them
}

// FromRKE1 reads what a cluster.yml requires on control planes, and what was installed next to it. host is
// the folder in place of the file system of a machine.
func FromRKE1(doc *yamledit.Document, related Related, host string) (Wanted, error) {
	for _, names := range rke1Spellings {
		root := doc.Root().Get(names.root...)
		if !root.Get("services", names.manager).Exists() && !root.Get(names.cloudProvider).Exists() {
			continue
		}
		w, err := names.read(root, host)
		w.Manifests = append(w.Manifests, related.Objects...)
		if err != nil || related.Values == nil {
			return w, err
		}
		w.CCM, err = chartOf(related, host)
		return w, err
	}
	return Wanted{}, fmt.Errorf("agent: %s: no configuration of RKE", doc.File())
}

func (n rke1Names) read(root yamledit.Node, host string) (Wanted, error) {
	provider := n.provider(root.Get(n.cloudProvider))
	w := Wanted{External: provider == "external"}
	var err error
	if w.KCM, err = n.managerArgs(root, provider, host); err != nil {
		return w, err
	}
	if w.CloudConfig, err = rkeCloudConfig(root.Get(n.cloudProvider)); err != nil {
		return w, err
	}
	addons := root.Get("addons")
	if !addons.Exists() || addons.IsNull() {
		return w, nil
	}
	embedded, err := addons.Embedded()
	if err != nil {
		return w, err
	}
	return w, w.readManifest(helmchart.Sources{Docs: embedded.Documents()})
}

// managerArgs returns the arguments of kube-controller-manager: RKE's own, the provider, the user's.
func (n rke1Names) managerArgs(root yamledit.Node, provider, host string) ([]string, error) {
	given := maps.Clone(rkeOptions)
	if provider != "" {
		given["cloud-provider"] = provider
	}
	for _, e := range root.Get("services", n.manager, n.extraArgs).Entries() {
		value := fmt.Sprint(e.Value.Value())
		switch {
		case strings.HasPrefix(value, rkeFolder):
			value = filepath.Join(host, value)
		case path.IsAbs(value):
			return nil, e.Value.Errorf("RKE mounts "+rkeFolder+" alone into the manager", "put the file there")
		}
		given[e.Key] = value
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list = append(list, "--"+name+"="+given[name])
	}
	return list, nil
}

// rkeCloudConfig returns the configuration of the provider as RKE writes it on every machine: a user's own
// text, or what RKE's own code makes of a block.
func rkeCloudConfig(at yamledit.Node) (string, error) {
	if text, ok := at.Get("customCloudProvider").String(); ok && text != "" {
		return text, nil
	}
	block, err := json.Marshal(at.Get("awsCloudProvider").Value())
	if err != nil {
		return "", err
	}
	var read types.CloudProvider
	if err := json.Unmarshal(block, &read.AWSCloudProvider); err != nil {
		return "", at.Errorf(err.Error(), "correct it")
	}
	writer := aws.GetInstance()
	if err := writer.Init(read); err != nil {
		return "", err
	}
	return writer.GenerateCloudConfigFile()
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
