// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// graftedVersion is the last release line that has the in-tree provider.
const graftedVersion = "v1.26.15+rke2r1"

// Selectors of machines.
var (
	controlPlane   = yamledit.Map{{Key: "matchLabels", Value: yamledit.Map{{Key: "rke.cattle.io/control-plane-role", Value: "true"}}}}
	worker         = yamledit.Map{{Key: "matchLabels", Value: yamledit.Map{{Key: "rke.cattle.io/worker-role", Value: "true"}}}}
	noControlPlane = yamledit.Map{{Key: "matchExpressions", Value: []any{
		yamledit.Map{{Key: "key", Value: "rke.cattle.io/control-plane-role"}, {Key: "operator", Value: "DoesNotExist"}},
	}}}
)

// twoManifests are others than those of the migration.
const twoManifests = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n# of two\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: second\n"

// clusterGrafts are clusters on AWS: by the provider, the arguments, the manifests.
var clusterGrafts = []graft{
	{"provider in machineGlobalConfig", []graftEdit{awsEverywhere}},
	{"provider in an entry without selector", []graftEdit{noProvider, awsWithoutSelector}},
	{"provider in machineGlobalConfig and for control planes", []graftEdit{awsEverywhere, entry(controlPlane, "cloud-provider-name", "aws")}},
	{"global manager arguments as a list", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{"terminated-pod-gc-threshold=10", "v=2"})}},
	{"global manager arguments with dashes", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{"--terminated-pod-gc-threshold=10", "--v=2"})}},
	{"global manager argument as a string", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", "v=2")}},
	{"global manager arguments null", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", nil)}},
	{"global manager arguments an empty list", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{})}},
	{"the flag as the only manager argument", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{"enable-leader-migration"})}},
	{"the flag as a string", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", "enable-leader-migration=true")}},
	{"the flag off", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{"--enable-leader-migration=false", "--v=2"})}},
	{"the flag for control planes, over global arguments", []graftEdit{awsEverywhere, global("kube-controller-manager-arg", []string{"v=2"}), entry(controlPlane, "kube-controller-manager-arg", []string{"enable-leader-migration"})}},
	{"manager arguments for control planes", []graftEdit{awsEverywhere, entry(controlPlane, "kube-controller-manager-arg", []string{"v=2"})}},
	{"manager arguments for workers", []graftEdit{awsEverywhere, entry(worker, "kube-controller-manager-arg", []string{"v=2"})}},
	{"manager arguments for all but control planes", []graftEdit{awsEverywhere, entry(noControlPlane, "kube-controller-manager-arg", []string{"v=2"})}},
	{"aws among the arguments of components", []graftEdit{awsEverywhere, global("kubelet-arg", []string{"max-pods=200", "cloud-provider=aws"}), global("kube-apiserver-arg", "--cloud-provider=aws"), global("kube-controller-manager-arg", []string{"cloud-provider=aws", "v=2"})}},
	{"the stub off where it must be on", []graftEdit{awsEverywhere, global("disable-cloud-controller", false)}},
	{"a manifest of its own", []graftEdit{awsEverywhere, manifest(twoManifests)}},
	{"an empty manifest", []graftEdit{awsEverywhere, manifest("")}},
	{"a null manifest", []graftEdit{awsEverywhere, manifest(nil)}},
}

// chartHead begins a HelmChart of the cloud-controller-manager.
const chartHead = `apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  chart: aws-cloud-controller-manager
  repo: https://kubernetes.github.io/cloud-provider-aws
  targetNamespace: kube-system
`

// chartWith returns the chart with values.
func chartWith(values string) string {
	return chartHead + "  bootstrap: true\n  version: 0.0.8\n  valuesContent: |-\n    " + strings.ReplaceAll(strings.TrimSpace(values), "\n", "\n    ") + "\n"
}

// installedValues are those of a chart that waits for nothing.
const installedValues = `
image:
  tag: v1.26.6
args:
  - --v=2
  - --cloud-provider=aws
  - --configure-cloud-routes=false
  - --enable-leader-migration=true
hostNetworking: true
nodeSelector:
  node-role.kubernetes.io/control-plane: "true"
tolerations:
  - operator: Exists
`

// inlineCloudConfig is a provider's configuration as people write it.
const inlineCloudConfig = "[Global]\nZone = eu-west-1a\nDisableSecurityGroupIngress = false\n"

// chartGrafts are clusters with a cloud-controller-manager, or a configuration of
// the provider, of their own.
var chartGrafts = []graft{
	{"a chart that is complete", []graftEdit{awsEverywhere, manifest(chartWith(installedValues))}},
	{"a chart without values", []graftEdit{awsEverywhere, manifest(chartHead)}},
	{"a chart with null values", []graftEdit{awsEverywhere, manifest(chartHead + "  valuesContent:\n  version: 0.0.8\n")}},
	{"a chart with the arguments of its own", []graftEdit{awsEverywhere, manifest(chartWith("image: {tag: v1.26.6}\nhostNetworking: true\n"))}},
	{"a chart with the flag off", []graftEdit{awsEverywhere, manifest(chartWith(strings.Replace(installedValues, "migration=true", "migration=false # for now", 1)))}},
	{"a chart with the flag in quotes, among others", []graftEdit{awsEverywhere, manifest(chartWith(strings.Replace(installedValues, "  - --enable-leader-migration=true\n", "  - \"--enable-leader-migration\"\n  - '--v=4' # louder\n", 1)))}},
	{"a chart with arguments in brackets", []graftEdit{awsEverywhere, manifest(chartWith("image:\n  tag: 'v1.26.6'\nargs: [\"--v=2\", '--cloud-provider=aws', --cluster-cidr=10.42.0.0/16]\n"))}},
	{"a chart that selects no node", []graftEdit{awsEverywhere, manifest(chartWith("image:\n  tag: v1.26.6\n  pullPolicy: Always\nnodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\ntolerations:\n  - key: node-role.kubernetes.io/master\n    effect: NoSchedule\n"))}},
	{"a chart with an image of another minor", []graftEdit{awsEverywhere, manifest(chartWith(strings.Replace(installedValues, "v1.26.6", "v1.25.3", 1)))}},
	{"a chart between other manifests", []graftEdit{awsEverywhere, manifest("# the first\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n# the manager\n" + chartWith(installedValues) +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: last\ndata:\n  text: |\n    one\n    two\n")}},
	{"a chart from a registry", []graftEdit{awsEverywhere, manifest(strings.Replace(chartWith(installedValues), "chart: aws", "chart: oci://registry.example.com/charts/aws", 1))}},
	{"a cloud config in line", []graftEdit{awsEverywhere, global("cloud-provider-config", inlineCloudConfig)}},
	{"a cloud config in a Secret", []graftEdit{awsEverywhere, global("cloud-provider-config", "secret://fleet-default:cloud-config")}},
	{"a cloud config for control planes, and a chart", []graftEdit{awsEverywhere, entry(controlPlane, "cloud-provider-config", inlineCloudConfig), manifest(chartWith(installedValues))}},
}

func supportedVersion(e *yamledit.Edit, config yamledit.Node) {
	put(e, config.Parent(), "kubernetesVersion", graftedVersion)
}

// usableNames replaces placeholders that Kubernetes would refuse.
func usableNames(e *yamledit.Edit, config yamledit.Node) {
	metadata := config.Document().Root().Get("metadata")
	if name, _ := metadata.Get("name").String(); name != "" && !k8s.IsName(name) {
		e.Set(metadata.Get("name"), "grafted")
	}
	if namespace, _ := metadata.Get("namespace").String(); namespace != "" && !k8s.IsNamespace(namespace) {
		e.Set(metadata.Get("namespace"), "fleet-default")
	}
}

// usablePools replaces placeholders for which Rancher would refuse the cluster.
func usablePools(e *yamledit.Edit, config yamledit.Node) {
	names := map[string]bool{}
	for i, pool := range config.Get("machinePools").Items() {
		for _, role := range []string{"controlPlaneRole", "etcdRole", "workerRole"} {
			if text, isText := pool.Get(role).String(); isText && text != "" {
				e.Set(pool.Get(role), true)
			}
		}
		if _, isText := pool.Get("quantity").String(); isText {
			e.Set(pool.Get("quantity"), 1)
		}
		name, _ := pool.Get("name").String()
		if names[name] {
			e.Set(pool.Get("name"), fmt.Sprintf("pool%d", i+1))
		}
		names[name] = true
	}
}

// aControlPlane gives the role to the first pool where no pool has it.
func aControlPlane(e *yamledit.Edit, config yamledit.Node) {
	pools := config.Get("machinePools").Items()
	for _, pool := range pools {
		if pool.Get("controlPlaneRole").Value() == true {
			return
		}
	}
	if len(pools) > 0 {
		put(e, pools[0], "controlPlaneRole", true)
	}
}

// global sets a key of machineGlobalConfig, there or not.
func global(key string, value any) graftEdit {
	return func(e *yamledit.Edit, config yamledit.Node) {
		if at := config.Get("machineGlobalConfig"); at.Len() > 0 {
			put(e, at, key, value)
			return
		}
		put(e, config, "machineGlobalConfig", yamledit.Map{{Key: key, Value: value}})
	}
}

// manifest sets additionalManifest where the cluster has none.
func manifest(text any) graftEdit {
	return func(e *yamledit.Edit, config yamledit.Node) {
		if own, _ := config.Get("additionalManifest").String(); own == "" {
			put(e, config, "additionalManifest", text)
		}
	}
}

// entry adds an entry with a selector to machineSelectorConfig.
func entry(selector yamledit.Map, key string, value any) graftEdit {
	return func(e *yamledit.Edit, config yamledit.Node) {
		addEntry(e, config, yamledit.Map{
			{Key: "config", Value: yamledit.Map{{Key: key, Value: value}}},
			{Key: "machineLabelSelector", Value: selector},
		})
	}
}

func addEntry(e *yamledit.Edit, config yamledit.Node, added yamledit.Map) {
	list := config.Get("machineSelectorConfig")
	if list.Len() > 0 {
		e.Append(list, added)
		return
	}
	put(e, config, "machineSelectorConfig", []any{added})
}

// awsEverywhere names aws wherever a provider is named, or else for all
// machines.
func awsEverywhere(e *yamledit.Edit, config yamledit.Node) {
	places := providers(config)
	for _, at := range places {
		e.Set(at, "aws")
	}
	if len(places) == 0 {
		global("cloud-provider-name", "aws")(e, config)
	}
}

func noProvider(e *yamledit.Edit, config yamledit.Node) {
	for _, at := range providers(config) {
		e.Remove(at)
	}
}

// awsWithoutSelector names aws where Rancher's interface does: in the entry for
// all machines.
func awsWithoutSelector(e *yamledit.Edit, config yamledit.Node) {
	for _, item := range config.Get("machineSelectorConfig").Items() {
		if item.Get("config").Len() > 0 && !item.Get("machineLabelSelector").Exists() {
			put(e, item.Get("config"), "cloud-provider-name", "aws")
			return
		}
	}
	addEntry(e, config, yamledit.Map{{Key: "config", Value: yamledit.Map{{Key: "cloud-provider-name", Value: "aws"}}}})
}

// providers returns every place that names a provider.
func providers(config yamledit.Node) []yamledit.Node {
	layers := []yamledit.Node{config.Get("machineGlobalConfig")}
	for _, item := range config.Get("machineSelectorConfig").Items() {
		layers = append(layers, item.Get("config"))
	}
	var found []yamledit.Node
	for _, l := range layers {
		if at := l.Get("cloud-provider-name"); at.Exists() {
			found = append(found, at)
		}
	}
	return found
}
