// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// graftedVersion is the last release line that has the in-tree provider.
const graftedVersion = "v1.26.15+rke2r1"

// variant is a cluster of the corpus, changed in memory.
type variant struct {
	name string
	doc  *yamledit.Document
}

// variantsOf yields a cluster in every graft and layout, each text once.
func variantsOf(doc *yamledit.Document) iter.Seq2[variant, error] {
	return func(yield func(variant, error) bool) {
		seen := map[string]bool{}
		for _, g := range slices.Concat(grafts, chartGrafts) {
			grown, err := graftedOnto(doc, g)
			if err != nil {
				if !yield(variant{name: g.name}, err) {
					return
				}
				continue
			}
			for _, l := range layouts {
				v, ok := l.of(grown)
				if !ok || seen[string(v.Bytes())] {
					continue
				}
				seen[string(v.Bytes())] = true
				if !yield(variant{g.name + ", " + l.name, v}, nil) {
					return
				}
			}
		}
	}
}

// clusterEdit queues one change of a cluster's rkeConfig.
type clusterEdit func(e *yamledit.Edit, config yamledit.Node)

// graft is a way to be on AWS.
type graft struct {
	name  string
	edits []clusterEdit
}

// Selectors of machines.
var (
	controlPlane   = yamledit.Map{{Key: "matchLabels", Value: yamledit.Map{{Key: "rke.cattle.io/control-plane-role", Value: "true"}}}}
	worker         = yamledit.Map{{Key: "matchLabels", Value: yamledit.Map{{Key: "rke.cattle.io/worker-role", Value: "true"}}}}
	noControlPlane = yamledit.Map{{Key: "matchExpressions", Value: []any{
		yamledit.Map{{Key: "key", Value: "rke.cattle.io/control-plane-role"}, {Key: "operator", Value: "DoesNotExist"}},
	}}}
)

var grafts = []graft{
	{"provider in machineGlobalConfig", []clusterEdit{awsEverywhere}},
	{"provider in an entry without selector", []clusterEdit{noProvider, awsWithoutSelector}},
	{"provider in machineGlobalConfig and for control planes", []clusterEdit{awsEverywhere,
		entry(controlPlane, "cloud-provider-name", "aws")}},
	{"global manager arguments as a list", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{"terminated-pod-gc-threshold=10", "v=2"})}},
	{"global manager arguments with dashes", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{"--terminated-pod-gc-threshold=10", "--v=2"})}},
	{"global manager argument as a string", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", "v=2")}},
	{"global manager arguments null", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", nil)}},
	{"global manager arguments an empty list", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{})}},
	{"the flag as the only manager argument", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{"enable-leader-migration"})}},
	{"the flag as a string", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", "enable-leader-migration=true")}},
	{"the flag off", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{"--enable-leader-migration=false", "--v=2"})}},
	{"the flag for control planes, over global arguments", []clusterEdit{awsEverywhere,
		global("kube-controller-manager-arg", []string{"v=2"}),
		entry(controlPlane, "kube-controller-manager-arg", []string{"enable-leader-migration"})}},
	{"manager arguments for control planes", []clusterEdit{awsEverywhere,
		entry(controlPlane, "kube-controller-manager-arg", []string{"v=2"})}},
	{"manager arguments for workers", []clusterEdit{awsEverywhere,
		entry(worker, "kube-controller-manager-arg", []string{"v=2"})}},
	{"manager arguments for all but control planes", []clusterEdit{awsEverywhere,
		entry(noControlPlane, "kube-controller-manager-arg", []string{"v=2"})}},
	{"aws among the arguments of components", []clusterEdit{awsEverywhere,
		global("kubelet-arg", []string{"max-pods=200", "cloud-provider=aws"}),
		global("kube-apiserver-arg", "--cloud-provider=aws"),
		global("kube-controller-manager-arg", []string{"cloud-provider=aws", "v=2"})}},
	{"the stub off where it must be on", []clusterEdit{awsEverywhere,
		global("disable-cloud-controller", false)}},
	{"a manifest of its own", []clusterEdit{awsEverywhere,
		manifest("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n# of two\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: second\n")}},
	{"an empty manifest", []clusterEdit{awsEverywhere, manifest("")}},
	{"a null manifest", []clusterEdit{awsEverywhere, manifest(nil)}},
}

// graftedOnto makes the graft on a document, one proven edit after the other.
func graftedOnto(doc *yamledit.Document, g graft) (*yamledit.Document, error) {
	edits := append([]clusterEdit{supportedVersion, usableNames, usablePools, aControlPlane}, g.edits...)
	for i, change := range edits {
		e := doc.Edit()
		change(e, doc.Root().Get("spec", "rkeConfig"))
		after, _, err := e.Apply()
		if err != nil {
			return nil, fmt.Errorf("%s, edit %d: %w", g.name, i, err)
		}
		doc = after
	}
	return doc, nil
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

// put sets a key of a mapping, there or not.
func put(e *yamledit.Edit, m yamledit.Node, key string, value any) {
	if at := m.Get(key); at.Exists() {
		e.Set(at, value)
		return
	}
	e.Insert(m, key, value)
}

// global sets a key of machineGlobalConfig, there or not.
func global(key string, value any) clusterEdit {
	return func(e *yamledit.Edit, config yamledit.Node) {
		if at := config.Get("machineGlobalConfig"); at.Len() > 0 {
			put(e, at, key, value)
			return
		}
		put(e, config, "machineGlobalConfig", yamledit.Map{{Key: key, Value: value}})
	}
}

// manifest sets additionalManifest where the cluster has none.
func manifest(text any) clusterEdit {
	return func(e *yamledit.Edit, config yamledit.Node) {
		if own, _ := config.Get("additionalManifest").String(); own == "" {
			put(e, config, "additionalManifest", text)
		}
	}
}

// entry adds an entry with a selector to machineSelectorConfig.
func entry(selector yamledit.Map, key string, value any) clusterEdit {
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
