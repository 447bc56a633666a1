// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"iter"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// manifestGraft is a way for a manager to be on AWS.
type manifestGraft struct {
	name string
	make func(e *yamledit.Edit, pod, container yamledit.Node)
}

const managerImage = "registry.k8s.io/kube-controller-manager:v1.26.15"

var manifestGrafts = []manifestGraft{
	{"provider at the end", func(e *yamledit.Edit, _, c yamledit.Node) { e.Append(arguments(c), "--cloud-provider=aws") }},
	{"provider in front", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.InsertItem(arguments(c), firstArgument(c), "--cloud-provider=aws")
	}},
	{"provider as an item of its own", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider")
		e.Append(arguments(c), "aws")
	}},
	{"the flag there already", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Append(arguments(c), "--enable-leader-migration=true")
		e.Append(arguments(c), "--cloud-provider=aws")
	}},
	{"the flag off", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider=aws")
		e.Append(arguments(c), "--enable-leader-migration=false")
	}},
	{"arguments after the command", func(e *yamledit.Edit, _, c yamledit.Node) {
		putItem(e, c, "args", []string{"--cloud-provider=aws", "--v=2"})
	}},
	{"a list of controllers", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider=aws")
		e.Append(arguments(c), "--controllers=*,nodeipam,tokencleaner")
	}},
	{"the configuration half-way", func(e *yamledit.Edit, pod, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider=aws")
		e.Append(arguments(c), "--enable-leader-migration")
		e.Append(arguments(c), "--leader-migration-config=/etc/leadermigration.conf")
		e.Append(c.Get("volumeMounts"), yamledit.Map{{Key: "mountPath", Value: "/etc/leadermigration.conf"}, {Key: "name", Value: "migration"}})
		e.Append(pod.Get("volumes"), yamledit.Map{{Key: "name", Value: "migration"}, {Key: "hostPath", Value: yamledit.Map{{Key: "path", Value: "/etc/leadermigration.conf"}}}})
	}},
	{"no volumes", func(e *yamledit.Edit, pod, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider=aws")
		e.Remove(c.Get("volumeMounts"))
		e.Remove(pod.Get("volumes"))
	}},
	{"the cloud manager", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Set(arguments(c).Items()[firstArgument(c)-1], "/bin/cloud-controller-manager")
		e.Append(arguments(c), "--cloud-provider=aws")
	}},
	{"external with the flag left", func(e *yamledit.Edit, _, c yamledit.Node) {
		e.Append(arguments(c), "--cloud-provider=external")
		e.Append(arguments(c), "--enable-leader-migration")
	}},
}

// arguments is the list of a container that holds its arguments.
func arguments(c yamledit.Node) yamledit.Node {
	if at := c.Get("args"); at.Len() > 0 {
		return at
	}
	return c.Get("command")
}

// firstArgument is the index of the first argument.
func firstArgument(c yamledit.Node) int {
	if at := arguments(c); at.Key() == "command" && at.Len() > 1 {
		if first, _ := at.Items()[1].String(); first != "" && first[0] != '-' {
			return 2
		}
	}
	return 1
}

func putItem(e *yamledit.Edit, m yamledit.Node, key string, v any) {
	if n := m.Get(key); n.Exists() {
		e.Set(n, v)
		return
	}
	e.Insert(m, key, v)
}

// manifestVariants yields a manifest in every graft and layout, each text once.
func manifestVariants(doc *yamledit.Document) iter.Seq[variant] {
	return func(yield func(variant) bool) {
		seen := map[string]bool{}
		for _, g := range manifestGrafts {
			e := doc.Edit()
			pod := doc.Root().Get("spec")
			if t := pod.Get("template", "spec"); t.Exists() {
				pod = t
			}
			c := pod.Get("containers").Items()[0]
			e.Set(c.Get("image"), managerImage)
			g.make(e, pod, c)
			grown, _, err := e.Apply()
			if err != nil {
				continue // a list of the graft is not there
			}
			for _, l := range layouts {
				v, ok := l.of(grown)
				if !ok || seen[string(v.Bytes())] {
					continue
				}
				seen[string(v.Bytes())] = true
				if !yield(variant{g.name + ", " + l.name, v}) {
					return
				}
			}
		}
	}
}
