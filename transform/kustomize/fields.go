// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
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
			if p, _ := path.String(); counts(p) {
				k.patches = append(k.patches, patch{file, path.Line(), of, p, said(item.Get("source")) + said(target) + sources})
			}
		}
	}
}

// sources are a sum of the texts of all resources, also of those that are folders, of what generators make objects of,
// and of the patches of both.
func (k *Kustomization) sources(load Load) string {
	sum := sha256.New()
	k.sum(sum, k.sourceKinds(), load, map[string]bool{})
	return string(sum.Sum(nil))
}

// mostKinds bounds the kinds that texts are searched for.
const mostKinds = 16

// sourceKinds are the kinds that values are taken from; nil for all.
func (k *Kustomization) sourceKinds() (kinds []string) {
	for _, item := range slices.Concat(k.root.Get("replacements").Items(), k.root.Get("vars").Items()) {
		kind := cmp.Or(str(item, "source", "kind"), str(item, "objref", "kind"))
		if kind == "" || len(kinds) == mostKinds {
			return nil
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// sum adds the texts of files and folders that were not seen before, of resources those that may be of the kinds.
func (k *Kustomization) sum(to io.Writer, kinds []string, load Load, seen map[string]bool) {
	refs := k.Refs()
	resources := len(refs)
	refs = slices.Concat(refs, k.PatchFiles(), texts(k.root.Get("generators")))
	for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		io.WriteString(to, said(k.root.Get(key)))
	}
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		for _, item := range k.root.Get(key).Items() {
			io.WriteString(to, said(item))
			for _, file := range slices.Concat(texts(item.Get("files")), texts(item.Get("envs")), []string{str(item, "env")}) {
				refs = append(refs, file[strings.Index(file, "=")+1:])
			}
		}
	}
	for i, ref := range refs {
		file, text, err := load(ref)
		if err != nil {
			sumFolder(to, ref, kinds, load, seen)
			continue
		}
		may := func(kind string) bool { return bytes.Contains(text, []byte(kind)) }
		if !seen[file] && (i >= resources || kinds == nil || yamledit.Disguised(text) || slices.ContainsFunc(kinds, may)) {
			to.Write(text)
		}
		seen[file] = true
	}
}

// sumFolder adds the texts of a kustomization and its resources, if the folder has one.
func sumFolder(to io.Writer, folder string, kinds []string, load Load, seen map[string]bool) {
	for _, name := range FileNames() {
		file, text, err := load(path.Join(folder, name))
		if err != nil || seen[file] {
			continue
		}
		seen[file] = true
		to.Write(text)
		if k, ok := Parse(name, folder, text); ok {
			k.sum(to, kinds, func(ref string) (string, []byte, error) { return load(path.Join(folder, ref)) }, seen)
		}
	}
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
var harmless = append([]string{
	"AnnotationsTransformer", "LabelTransformer", "ConfigMapGenerator", "HelmChartInflationGenerator", "SecretGenerator",
}, renaming...)

// renaming are those that change names and namespaces.
var renaming = []string{"NamespaceTransformer", "PrefixTransformer", "PrefixSuffixTransformer", "SuffixTransformer"}

// plugin counts for every object, unless it is harmless: what a transformer does is in its own words, and
// what a generator makes can replace an object.
func (k *Kustomization) plugin(item yamledit.Node, load Load) {
	text, _ := item.String()
	if !strings.Contains(text, "\n") {
		_, held, err := load(text)
		if err != nil {
			sum := sha256.New()
			sumFolder(sum, text, nil, load, map[string]bool{})
			k.unread(item, nil, string(sum.Sum(nil)))
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
		if slices.Contains(renaming, str(doc.Root(), "kind")) {
			k.patches = append(k.patches, patch{k.File, item.Line(), selector{}, nameField, text})
		}
	}
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
		if path, is := pointed(str(spec, "path")); is && path != whole && !identity(path) {
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
