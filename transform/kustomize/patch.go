// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// patch is one change that a kustomization makes.
type patch struct {
	file string
	line int
	to   selector
	path string // of the first field that it changes; "" for what cannot be read
	text string // what it does: two with one text do the same
}

// selector says which objects a patch changes; "" matches all.
type selector struct{ kind, name, namespace string }

// Resolve reads the patches of the kustomization, and the files that hold them.
func (k *Kustomization) Resolve(load Load) {
	k.patches = nil
	for _, key := range []string{"patches", "patchesJson6902"} {
		for _, item := range k.root.Get(key).Items() {
			k.patch(item, load)
		}
	}
	for _, item := range k.root.Get("patchesStrategicMerge").Items() {
		if text, _ := item.String(); strings.Contains(text, "\n") {
			k.read(k.File, item.Line(), nil, false, text)
		} else {
			k.open(item, text, nil, false, load)
		}
	}
	k.replacements(load)
	k.components(load)
	if k.root.Get("vars").Exists() {
		k.values = k.sources(load)
	}
	for _, key := range []string{"transformers", "generators"} {
		for _, item := range k.root.Get(key).Items() {
			k.plugin(item, load)
		}
	}
	for _, item := range k.root.Get("configurations").Items() {
		k.configuration(item, load)
	}
	k.fields()
}

// patch reads an entry of patches: with a target, or by the object that it names.
func (k *Kustomization) patch(item yamledit.Node, load Load) {
	var to *selector
	if target := item.Get("target"); target.IsMap() {
		to = &selector{str(target, "kind"), str(target, "name"), str(target, "namespace")}
	}
	renames := item.Get("options", "allowNameChange").Value() == true || item.Get("options", "allowKindChange").Value() == true
	if path := str(item, "path"); path != "" {
		k.open(item, path, to, renames, load)
		return
	}
	k.read(k.File, item.Get("patch").Line(), to, renames, str(item, "patch"))
}

// open reads a file of patches. One that cannot be read may change anything.
func (k *Kustomization) open(at yamledit.Node, path string, to *selector, renames bool, load Load) {
	file, text, err := load(path)
	if err != nil {
		k.unread(at, to, "")
		return
	}
	k.read(file, 0, to, renames, string(text))
}

func (k *Kustomization) unread(at yamledit.Node, to *selector, text string) {
	if to == nil {
		to = &selector{}
	}
	k.patches = append(k.patches, patch{file: k.File, line: at.Line(), to: *to, text: text})
}

// read reads the documents of a patch. line is that of a text inside of the
// kustomization, and 0 for a file of its own. One with a target that renames is taken by its name too.
func (k *Kustomization) read(file string, line int, to *selector, renames bool, text string) {
	for _, chunk := range yamledit.Split(file, []byte(text)) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			p := patch{file: file, line: max(line, chunk.Line+1), text: text}
			if to != nil {
				p.to = *to
			}
			k.patches = append(k.patches, p)
			continue
		}
		root, at := doc.Root(), line
		if !root.Exists() {
			continue
		}
		of := selector{str(root, "kind"), str(root, "metadata", "name"), str(root, "metadata", "namespace")}.exact()
		if to != nil {
			of = *to
		}
		list := changes(root)
		if name := root.Get("metadata", "name"); to != nil && renames && root.IsMap() {
			list = append(list, change{nameField, max(name.Line(), 1), said(root.Get("kind")) + said(name)})
		}
		for _, c := range list {
			if line == 0 {
				at = c.line
			}
			k.patches = append(k.patches, patch{file, at, of, c.path, c.text})
		}
	}
}

// exact is a selector for these very words; those of a target are expressions.
func (s selector) exact() selector {
	return selector{regexp.QuoteMeta(s.kind), regexp.QuoteMeta(s.name), regexp.QuoteMeta(s.namespace)}
}

// change is a field that a patch changes.
type change struct {
	path string
	line int
	text string
}

// said is a value as a text, with the keys of mappings in their order.
func said(n yamledit.Node) string { return fmt.Sprintf("%#v", n.Value()) }

// whole means an object that is replaced or deleted.
const whole = "the whole object"

// nameField is that of the name, which is of the identity of an object and of no plan.
const nameField = "metadata.name"

// changes returns what a patch changes outside of labels and annotations: of a JSON patch its
// paths, of a merge patch its fields.
func changes(root yamledit.Node) []change {
	var list []change
	for _, op := range root.Items() {
		for _, key := range []string{"path", "from"} {
			if str(op, "op") == "test" || key == "from" && str(op, "op") != "move" || !op.Get(key).Exists() {
				continue
			}
			if path, is := pointed(str(op, key)); is {
				list = append(list, change{path, op.Line(), said(op)})
			}
		}
	}
	for _, e := range root.Entries() {
		switch e.Key {
		case "apiVersion", "kind", "metadata":
		case "$patch":
			list = append(list, change{whole, e.Value.Line(), said(e.Value)})
		default:
			c := leaf(e.Key, e.Value)
			c.text = said(e.Value)
			list = append(list, c)
		}
	}
	return list
}

// pointed reads a JSON pointer as a path, and reports whether it leads outside of
// labels, annotations and the like.
func pointed(pointer string) (path string, is bool) {
	words := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if words[0] == "" {
		return whole, true
	}
	for i, w := range words {
		words[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(w)
	}
	path = strings.Join(words, ".")
	return path, counts(path)
}

// identity reports whether a field says which object it is.
func identity(path string) bool { return path == nameField || path == "metadata.namespace" }

// counts reports whether a field changes an object, or which one it is: what else is in the metadata does not.
func counts(path string) bool { return !strings.HasPrefix(path, "metadata.") || identity(path) }

// leaf follows the first field of each mapping, as far as one leads to the next.
func leaf(path string, n yamledit.Node) change {
	for n.IsMap() && len(n.Entries()) > 0 {
		e := n.Entries()[0]
		path, n = path+"."+e.Key, e.Value
	}
	return change{path: path, line: n.Line()}
}
