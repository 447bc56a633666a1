// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const graftedRKE1Version = "v1.26.15-rancher1-1"

// rke1Graft is a path to be on AWS: values that are put at paths from the
// configuration on.
type rke1Graft struct {
	name string
	puts []rke1Put
}

type rke1Put struct {
	value any
	path  []string
}

func putAt(value any, path ...string) rke1Put { return rke1Put{value, path} }

var (
	awsName  = putAt("aws", "cloud_provider", "name")
	awsBlock = yamledit.Map{{Key: "global", Value: yamledit.Map{{Key: "zone", Value: "eu-west-1a"}, {Key: "kubernetes-cluster-id", Value: "harbour"}}}}
	manager  = []string{"services", "kube-controller"}
)

var rke1Grafts = []rke1Graft{
	{"for the name only", []rke1Put{awsName}},
	{"name and block", []rke1Put{awsName, putAt(awsBlock, "cloud_provider", "awsCloudProvider")}},
	{"the block alone", []rke1Put{putAt(yamledit.Map{{Key: "awsCloudProvider", Value: awsBlock}}, "cloud_provider")}},
	{"an empty block", []rke1Put{awsName, putAt(yamledit.Map{}, "cloud_provider", "awsCloudProvider")}},
	{"a text of its own", []rke1Put{awsName, putAt("[Global]\nZone = eu-west-1a", "cloud_provider", "customCloudProvider")}},
	{"an explicit false", []rke1Put{awsName, putAt(false, "cloud_provider", "useInstanceMetadataHostname")}},
	{"no services", []rke1Put{awsName, putAt(nil, "services")}},
	{"an empty service", []rke1Put{awsName, putAt(yamledit.Map{}, manager...)}},
	{"empty arguments", []rke1Put{awsName, putAt(yamledit.Map{}, "services", "kube-controller", "extra_args")}},
	{"null arguments", []rke1Put{awsName, putAt(nil, "services", "kube-controller", "extra_args")}},
	{"other arguments", []rke1Put{awsName, putAt(yamledit.Map{{Key: "v", Value: "2"}, {Key: "feature-gates", Value: "RotateKubeletServerCertificate=true"}}, "services", "kube-controller", "extra_args")}},
	{"the flag unquoted", []rke1Put{awsName, putAt(true, "services", "kube-controller", "extra_args", "enable-leader-migration")}},
	{"the flag off", []rke1Put{awsName, putAt("false", "services", "kube-controller", "extra_args", "enable-leader-migration")}},
	{"the flag repeated, off", []rke1Put{awsName, putAt([]string{"false"}, "services", "kube-controller", "extra_args_array", "enable-leader-migration")}},
	{"arguments for Windows beside", []rke1Put{awsName, putAt(yamledit.Map{{Key: "v", Value: "4"}}, "services", "kube-controller", "win_extra_args")}},
	{"aws among the arguments of components", []rke1Put{awsName,
		putAt("aws", "services", "kubelet", "extra_args", "cloud-provider"),
		putAt("aws", "services", "kube-api", "extra_args", "cloud-provider"),
		putAt([]string{"aws"}, "services", "kube-controller", "extra_args_array", "cloud-provider")}},
	{"manifests of its own", []rke1Put{awsName, putAt("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\n# of two\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: second\n", "addons")}},
	{"empty manifests", []rke1Put{awsName, putAt("", "addons")}},
	{"null manifests", []rke1Put{awsName, putAt(nil, "addons")}},
}

// rke1Variants yields a document in every graft and layout, each text once, and
// as Rancher's API has it.
func rke1Variants(doc *yamledit.Document) iter.Seq2[variant, error] {
	return func(yield func(variant, error) bool) {
		seen := map[string]bool{}
		for _, g := range rke1Grafts {
			grown, err := rke1GraftedOnto(doc, g)
			if err != nil {
				if !yield(variant{name: g.name}, err) {
					return
				}
				continue
			}
			for _, v := range writtenDifferently(grown) {
				v.name = g.name + ", " + v.name
				if seen[string(v.doc.Bytes())] {
					continue
				}
				seen[string(v.doc.Bytes())] = true
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

// writtenDifferently returns a document in all layouts that it can have. They write
// whole lines, so all but the first start from one kind of break.
func writtenDifferently(doc *yamledit.Document) []variant {
	all := []variant{{"as it is", doc}}
	chunk := doc.Chunk()
	chunk.Bytes = bytes.ReplaceAll(chunk.Bytes, []byte("\r\n"), []byte("\n"))
	plain, err := transform.Parse(chunk)
	if err != nil {
		return all
	}
	for _, l := range layouts {
		if v, ok := l.of(plain); ok {
			all = append(all, variant{l.name, v})
		}
	}
	if v, err := inAPI(doc); err == nil {
		all = append(all, variant{"as Rancher's API has it", v})
	}
	return all
}

// inAPI writes what RKE reads of a document as Rancher's API does.
func inAPI(doc *yamledit.Document) (*yamledit.Document, error) {
	c, err := rke1.Open(doc, "")
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(map[string]any{"name": "harbour", "rancherKubernetesEngineConfig": c.Read}, "", "  ")
	if err != nil {
		return nil, err
	}
	chunk := doc.Chunk()
	chunk.Bytes = text
	return transform.Parse(chunk)
}

// rke1GraftedOnto makes the graft on a document, one proven edit after the other.
func rke1GraftedOnto(doc *yamledit.Document, g rke1Graft) (*yamledit.Document, error) {
	puts := append([]rke1Put{putAt(graftedRKE1Version, "kubernetes_version")}, g.puts...)
	for i, p := range puts {
		e := doc.Edit()
		p.queue(e, rke1ConfigOf(doc))
		after, _, err := e.Apply()
		if err != nil {
			return nil, fmt.Errorf("%s, edit %d: %w", g.name, i, err)
		}
		doc = after
	}
	return doc, nil
}

func rke1ConfigOf(doc *yamledit.Document) yamledit.Node {
	if n := doc.Root().Get("rancher_kubernetes_engine_config"); n.IsMap() {
		return n
	}
	return doc.Root()
}

// queue puts the value, and the mappings that are missing above it.
func (p rke1Put) queue(e *yamledit.Edit, at yamledit.Node) {
	for i, key := range p.path {
		if old := strings.ReplaceAll(key, "-", "_"); at.Get(old).Exists() {
			key = old
		}
		next := at.Get(key)
		if next.IsMap() && i < len(p.path)-1 {
			at = next
			continue
		}
		value := p.value
		for j := len(p.path) - 1; j > i; j-- {
			value = yamledit.Map{{Key: p.path[j], Value: value}}
		}
		put(e, at, key, value)
		return
	}
}
