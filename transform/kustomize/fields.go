// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// replacements reads what copies values from one object into others; a file has one, or a list.
func (k *Kustomization) replacements(load Load) {
	for _, item := range k.root.Get("replacements").Items() {
		path := item.StringAt("path")
		if path == "" {
			k.replacement(item)
			continue
		}
		root := k.loaded(item, path, load)
		if root.IsMap() {
			k.replacement(root)
		}
		for _, item := range root.Items() {
			k.replacement(item)
		}
	}
}

// loaded is the root of a file that an item names. One that cannot be read may change anything.
func (k *Kustomization) loaded(item yamledit.Node, path string, load Load) yamledit.Node {
	file, text, err := load(path)
	var doc *yamledit.Document
	if err == nil {
		doc, err = yamledit.ParseString(file, string(text))
	}
	if err != nil {
		k.unread(k.File, item.Line(), nil, string(text))
		return yamledit.Node{}
	}
	return doc.Root()
}

func (k *Kustomization) replacement(item yamledit.Node) {
	file := item.Document().File()
	if folded(item) {
		k.patches = append(k.patches, patch{file: file, line: item.Line(), text: textOf(item), copies: true})
	}
	for _, into := range item.Get("targets").Items() {
		of := target(into.Get("select"))
		if !into.Get("fieldPaths").Exists() { // kustomize takes the name
			k.patches = append(k.patches, patch{file: file, line: into.Line(), to: of, path: "metadata.name", text: textOf(item), keepsContent: true, copies: true})
		}
		for _, path := range into.Get("fieldPaths").Items() {
			p, _ := path.String()
			if _, counts := pointed(strings.ReplaceAll(p, ".", "/")); counts {
				k.patches = append(k.patches, patch{file: file, line: path.Line(), to: of, path: p, text: textOf(item.Get("source")) + textOf(into), keepsContent: ofName(p), copies: true})
			}
		}
	}
}

// mostKinds bounds the kinds that texts are searched for.
const mostKinds = 16

// sourceKinds are the kinds that values are taken from; nil for all, also where a transformer may say so.
func (k *Kustomization) sourceKinds() (kinds []string) {
	if k.root.Get("transformers").Exists() {
		return nil
	}
	for _, item := range k.items("replacements", "vars") {
		kind := cmp.Or(item.StringAt("source", "kind"), item.StringAt("objref", "kind"))
		if kind == "" || len(kinds) == mostKinds {
			return nil
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// digest is of a kustomization, and of all files and folders next to it that its words name, and those of what they
// name; of resources those that may be of the kinds.
func digest(load Load, of yamledit.Node, plugin bool, kinds []string) string {
	sum, seen := sha256.New(), map[string]bool{} // by the real names of files: links may lead in circles
	var add func(n yamledit.Node, folder string, plugin, resource bool)
	read := func(text []byte, folder string) {
		for _, chunk := range yamledit.Split("", text) {
			if doc, err := yamledit.Parse(chunk); err == nil {
				add(doc.Root(), folder, false, false)
			}
		}
	}
	add = func(n yamledit.Node, folder string, plugin, resource bool) {
		for _, e := range n.Entries() {
			sum.Write([]byte(e.Key))
			add(e.Value, folder, plugin || e.Key == "transformers" || e.Key == "generators", e.Key == "resources" || e.Key == "bases")
		}
		for _, item := range n.Items() {
			add(item, folder, plugin, resource)
		}
		word, _ := n.String()
		sum.Write([]byte(word + "\x00"))
		if strings.Contains(word, "\n") && plugin {
			read([]byte(word), folder)
		}
		at := path.Join(folder, word[strings.Index(word, "=")+1:])
		if word == "" || strings.Contains(word, "\n") {
			return
		}
		if file, text, err := load(at); err == nil {
			of := func(kind string) bool { return bytes.Contains(text, []byte(kind)) }
			if resource {
				file = "resource " + file
			}
			if seen[file] || resource && kinds != nil && !yamledit.Disguised(text) && !slices.ContainsFunc(kinds, of) {
				seen[file] = true
				return
			}
			seen[file] = true
			sum.Write(text)
			if plugin {
				read(text, folder)
			}
			return
		}
		for _, name := range FileNames() {
			if file, text, err := load(path.Join(at, name)); err == nil && !seen[file] {
				seen[file] = true
				sum.Write(text)
				read(text, at)
			}
		}
	}
	add(of, "", plugin, false)
	return string(sum.Sum(nil))
}

// refs counts what objects and components are taken from and is not there, or in another repository: a component
// may change any object, and all of the kustomization may be applied no more.
func (k *Kustomization) refs(has func(path string) bool) {
	for _, key := range []string{"resources", "bases", "components"} {
		for _, item := range k.root.Get(key).Items() {
			ref, _ := item.String()
			in := func(name string) bool { return has(path.Join(ref, name)) }
			if !has(ref) && !slices.ContainsFunc(FileNames(), in) {
				k.patches = append(k.patches, patch{file: k.File, line: item.Line(), text: ref, keepsContent: key != "components"})
			}
		}
	}
}

// harmless are the plugins of kustomize itself that change labels and annotations alone, those that add objects, and renaming.
var (
	harmless = []string{"AnnotationsTransformer", "LabelTransformer", "ConfigMapGenerator", "HelmChartInflationGenerator", "SecretGenerator"}
	renaming = []string{"NamespaceTransformer", "PrefixTransformer", "PrefixSuffixTransformer", "SuffixTransformer"}
)

// plugin counts for every object, unless it is harmless: what a transformer does is in its own words, and
// what a generator makes can replace an object.
func (k *Kustomization) plugin(item yamledit.Node, load Load) {
	text, _ := item.String()
	if !strings.Contains(text, "\n") {
		_, held, err := load(text)
		if err != nil { // a folder, which may copy values
			k.patches = append(k.patches, patch{file: k.File, line: item.Line(), text: digest(load, item, true, nil), copies: true})
			return
		}
		text = string(held)
	}
	for _, chunk := range yamledit.Split(k.File, []byte(text)) {
		doc, err := yamledit.Parse(chunk)
		kind, builtin := "", false
		if err == nil {
			kind, builtin = doc.Root().StringAt("kind"), doc.Root().StringAt("apiVersion") == "builtin"
		}
		switch {
		case err == nil && !doc.Root().Exists():
		case builtin && slices.Contains(harmless, kind) && !strings.Contains(text, localConfig):
			k.specs(doc.Root().Get("fieldSpecs"))
		case builtin && slices.Contains(renaming, kind):
			k.patches = append(k.patches, patch{file: k.File, line: item.Line(), path: "metadata.name", text: text, keepsContent: true})
		default:
			k.patches = append(k.patches, patch{file: k.File, line: item.Line(), text: digest(load, item, true, nil), copies: kind == "ReplacementTransformer"})
		}
	}
}

// configuration reads which fields of which kinds hold names, labels, images and variables: whether and how
// they are changed is in other words.
func (k *Kustomization) configuration(item yamledit.Node, load Load) {
	for _, e := range k.loaded(item, item.StringAt(), load).Entries() {
		k.specs(e.Value)
	}
}

// specs are fields outside of the metadata that a configuration or an entry lists.
func (k *Kustomization) specs(list yamledit.Node) {
	for _, spec := range list.Items() {
		if path, counts := pointed(spec.StringAt("path")); counts && path != whole {
			k.patches = append(k.patches, patch{file: spec.Document().File(), line: spec.Line(), to: selector{kind: word{text: spec.StringAt("kind")}}, path: path, text: textOf(spec), keepsContent: ofName(path)})
		}
		k.specs(spec.Get("fieldSpecs"))
	}
}

// fields reads the fields that change one thing each.
func (k *Kustomization) fields() {
	for _, item := range k.root.Get("labels").Items() {
		k.specs(item.Get("fields"))
	}
	for _, item := range k.root.Get("replicas").Items() {
		k.patches = append(k.patches, patch{file: k.File, line: item.Line(), to: selector{kind: word{text: "Deployment"}, name: word{text: item.StringAt("name")}}, path: "spec.replicas", text: textOf(item)})
	}
}

// images returns the entries of images that change an image of a document.
func (k *Kustomization) images(doc *yamledit.Document) []yamledit.Node {
	var names []string
	var collect func(yamledit.Node)
	collect = func(n yamledit.Node) {
		for _, e := range n.Entries() {
			if image, ok := e.Value.String(); ok && e.Key == "image" {
				names = append(names, k8s.ParseImage(image).Name)
			}
			collect(e.Value)
		}
		for _, item := range n.Items() {
			collect(item)
		}
	}
	collect(doc.Root().Get("spec"))
	return slices.DeleteFunc(k.root.Get("images").Items(), func(item yamledit.Node) bool { return !slices.Contains(names, item.StringAt("name")) })
}
