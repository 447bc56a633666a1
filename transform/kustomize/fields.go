// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// replacements reads what copies values from one object into others; a file has one, or a list.
func (k *Kustomization) replacements(load Load) {
	items := k.root.Get("replacements").Items()
	if len(items) == 0 {
		return
	}
	sources := k.sources(load) // of the values, which are those of any resource
	for _, item := range items {
		path := str(item, "path")
		if path == "" {
			k.replacement(k.File, item, sources)
			continue
		}
		name, text, err := load(path)
		var doc *yamledit.Document
		if err == nil {
			doc, err = yamledit.ParseString(name, string(text))
		}
		switch {
		case err != nil:
			k.unread(item, nil, string(text))
		case doc.Root().IsMap():
			k.replacement(name, doc.Root(), sources)
		default:
			for _, item := range doc.Root().Items() {
				k.replacement(name, item, sources)
			}
		}
	}
}

func (k *Kustomization) replacement(file string, item yamledit.Node, sources string) {
	for _, target := range item.Get("targets").Items() {
		to := target.Get("select")
		of := selector{str(to, "kind"), str(to, "name"), str(to, "namespace")}.exact()
		for _, path := range target.Get("fieldPaths").Items() {
			if p, _ := path.String(); !strings.HasPrefix(p, "metadata.") {
				k.patches = append(k.patches, patch{file, path.Line(), of, p, said(item.Get("source")) + said(target) + sources})
			}
		}
	}
}

// sources are the texts of all resources that are files, and of what generators make objects of.
func (k *Kustomization) sources(load Load) (all string) {
	refs := k.Refs()
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		for _, item := range k.root.Get(key).Items() {
			all += said(item)
			for _, file := range slices.Concat(texts(item.Get("files")), texts(item.Get("envs")), []string{str(item, "env")}) {
				refs = append(refs, file[strings.Index(file, "=")+1:])
			}
		}
	}
	for _, ref := range refs {
		if _, text, err := load(ref); err == nil {
			all += string(text)
		}
	}
	return all
}

// components counts those that cannot be read for every object.
func (k *Kustomization) components(load Load) {
	for _, item := range k.root.Get("components").Items() {
		folder, _ := item.String()
		has := func(name string) bool { _, _, err := load(path.Join(folder, name)); return err == nil }
		if !slices.ContainsFunc(FileNames(), has) {
			k.unread(item, nil, folder)
		}
	}
}

// harmless are the plugins of kustomize itself that change metadata alone, and those that add objects.
var harmless = []string{
	"AnnotationsTransformer", "LabelTransformer", "NamespaceTransformer", "PrefixTransformer", "PrefixSuffixTransformer", "SuffixTransformer",
	"ConfigMapGenerator", "HelmChartInflationGenerator", "SecretGenerator",
}

// plugin counts for every object, unless it is harmless: what a transformer does is in its own words, and
// what a generator makes can replace an object.
func (k *Kustomization) plugin(item yamledit.Node, load Load) {
	text, _ := item.String()
	if !strings.Contains(text, "\n") {
		_, held, err := load(text)
		if err != nil {
			k.unread(item, nil, ofFolder(text, load))
			return
		}
		text = string(held)
	}
	for _, chunk := range yamledit.Split(k.File, []byte(text)) {
		doc, err := yamledit.Parse(chunk)
		if err != nil || doc.Root().Exists() && (str(doc.Root(), "apiVersion") != "builtin" || !slices.Contains(harmless, str(doc.Root(), "kind"))) {
			_, patch, _ := load(str(doc.Root(), "path"))
			k.unread(item, nil, text+string(patch))
			continue
		}
		k.specs(k.File, doc.Root().Get("fieldSpecs"))
	}
}

// ofFolder are the texts of a kustomization and its resources; "" if the folder has none.
func ofFolder(folder string, load Load) string {
	for _, name := range FileNames() {
		_, text, err := load(path.Join(folder, name))
		if err != nil {
			continue
		}
		k, ok := Parse(name, folder, text)
		if !ok {
			return string(text)
		}
		return string(text) + k.sources(func(ref string) (string, []byte, error) { return load(path.Join(folder, ref)) })
	}
	return ""
}

// configuration reads which fields of which kinds hold names, labels, images and variables: whether and how
// they are changed is in other words.
func (k *Kustomization) configuration(item yamledit.Node, load Load) {
	path, _ := item.String()
	file, text, err := load(path)
	if err != nil {
		k.unread(item, nil, "")
		return
	}
	doc, err := yamledit.ParseString(file, string(text))
	if err != nil {
		k.unread(item, nil, string(text))
		return
	}
	for _, e := range doc.Root().Entries() {
		k.specs(file, e.Value)
	}
}

// specs are fields outside of the metadata that a configuration or an entry lists.
func (k *Kustomization) specs(file string, list yamledit.Node) {
	for _, spec := range list.Items() {
		if path, counts := pointed(str(spec, "path")); counts && path != whole {
			k.patches = append(k.patches, patch{file, spec.Line(), selector{kind: regexp.QuoteMeta(str(spec, "kind"))}, path, said(spec)})
		}
		k.specs(file, spec.Get("fieldSpecs"))
	}
}

// fields reads the fields that change one thing each.
func (k *Kustomization) fields() {
	for _, item := range k.root.Get("labels").Items() {
		k.specs(k.File, item.Get("fields"))
	}
	for _, item := range k.root.Get("replicas").Items() {
		k.patches = append(k.patches, patch{k.File, item.Line(), selector{kind: "Deployment", name: regexp.QuoteMeta(str(item, "name"))}, "spec.replicas", said(item)})
	}
}

// images returns the entries of images that change an image of a document.
func (k *Kustomization) images(doc *yamledit.Document) []yamledit.Node {
	var names []string
	var collect func(yamledit.Node)
	collect = func(n yamledit.Node) {
		for _, e := range n.Entries() {
			if image, ok := e.Value.String(); ok && e.Key == "image" {
				names = append(names, bare(image))
			}
			collect(e.Value)
		}
		for _, item := range n.Items() {
			collect(item)
		}
	}
	collect(doc.Root().Get("spec"))
	return slices.DeleteFunc(k.root.Get("images").Items(), func(item yamledit.Node) bool { return !slices.Contains(names, str(item, "name")) })
}

// bare is an image without its tag and its digest.
func bare(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	return image
}
