// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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

	keepsContent bool // it changes nothing that the document says, but its name, or whether the layer can be built
	copies       bool // its values are those of other objects
}

// renames reports whether a patch changes the name of an object.
func (p patch) renames() bool { return p.keepsContent && p.path != "" }

// selector says which objects a patch changes.
type selector struct{ kind, name, namespace word }

// itself is a selector for the very object that a patch names.
func itself(n yamledit.Node) selector {
	return selector{word{text: n.StringAt("kind")}, word{text: n.StringAt("metadata", "name")}, word{text: n.StringAt("metadata", "namespace")}}
}

// target is a selector by expressions.
func target(n yamledit.Node) selector {
	return selector{expression(n.StringAt("kind")), expression(n.StringAt("name")), expression(n.StringAt("namespace"))}
}

// word is a text, or the form of texts; the zero value matches all.
type word struct {
	text string
	form *regexp.Regexp
}

// expression matches as a whole. One that cannot be read may match any.
func expression(text string) word {
	if text == regexp.QuoteMeta(text) {
		return word{text: text}
	}
	form, _ := regexp.Compile("^(?:" + text + ")$")
	return word{form: form}
}

func (w word) matches(texts ...string) bool {
	if w.form != nil {
		return slices.ContainsFunc(texts, w.form.MatchString)
	}
	return w.text == "" || slices.Contains(texts, w.text)
}

// Resolve reads the patches of the kustomization, and the files that hold them. has reports whether a file is there, and
// parts are its components, resolved.
func (k *Kustomization) Resolve(load Load, has func(path string) bool, parts ...*Kustomization) {
	k.patches = nil
	for _, item := range k.items("patches", "patchesJson6902") {
		k.patch(item, load)
	}
	for _, item := range k.root.Get("patchesStrategicMerge").Items() {
		if text := item.StringAt(); strings.Contains(text, "\n") {
			k.read(k.File, item.Line(), nil, text, false)
		} else {
			k.open(item, text, nil, load)
		}
	}
	k.replacements(load)
	k.refs(has)
	for _, item := range k.items("transformers", "generators") {
		k.plugin(item, load)
	}
	for _, item := range k.root.Get("configurations").Items() {
		k.configuration(item, load)
	}
	k.fields()
	k.unclear()
	switch {
	case slices.ContainsFunc(parts, (*Kustomization).copies):
		k.made = digest(load, k.root, false, nil)
	case k.copies():
		k.made = digest(load, k.root, false, k.sourceKinds())
	}
}

// keys are those of a kustomization, at any depth, that can change an object. kustomize takes them in any case.
var keys = []string{
	"resources", "bases", "components", "patches", "patchesJson6902", "patchesStrategicMerge", "replacements", "vars", "transformers", "generators",
	"configurations", "labels", "replicas", "images", "namePrefix", "nameSuffix", "namespace", "configMapGenerator", "secretGenerator",
	"commonLabels", "commonAnnotations", "source", "targets", "select", "fieldPaths", "fieldPath", "objref", "kind", "name", "newName", "newTag", "digest", "count", "fields", "path",
}

// free are those whose values have keys of the user.
var free = []string{"commonLabels", "commonAnnotations", "pairs", "valuesInline"}

// folded reports whether a node has one of the keys in another case.
func folded(n yamledit.Node) bool {
	return slices.ContainsFunc(n.Items(), folded) || slices.ContainsFunc(n.Entries(), func(e yamledit.Entry) bool {
		same := func(key string) bool { return key != e.Key && strings.EqualFold(key, e.Key) }
		return slices.ContainsFunc(keys, same) || !slices.Contains(free, e.Key) && folded(e.Value)
	})
}

// unclear counts for every object what has keys in another case, and the annotation that leaves objects out.
func (k *Kustomization) unclear() {
	if folded(k.root) || strings.Contains(textOf(k.root.Get("commonAnnotations")), localConfig) {
		k.unread(k.File, k.root.Line(), nil, textOf(k.root))
	}
}

func (k *Kustomization) copies() bool {
	return k.root.Get("vars").Exists() || slices.ContainsFunc(k.patches, func(p patch) bool { return p.copies })
}

// patch reads an entry of patches: with a target, or by the object that it names.
func (k *Kustomization) patch(item yamledit.Node, load Load) {
	var to *selector
	if n := item.Get("target"); n.IsMap() {
		to = new(target(n))
	}
	if path := item.StringAt("path"); path != "" {
		k.open(item, path, to, load)
		return
	}
	if text, ok := item.Get("patch").String(); ok {
		k.read(k.File, item.Get("patch").Line(), to, text, item.Get("options").Exists())
	} else {
		k.unread(k.File, item.Line(), to, textOf(item))
	}
}

// open reads a file of patches. One that cannot be read may change anything.
func (k *Kustomization) open(at yamledit.Node, path string, to *selector, load Load) {
	file, text, err := load(path)
	if err != nil {
		k.unread(k.File, at.Line(), to, "")
		return
	}
	k.read(file, 0, to, string(text), at.Get("options").Exists())
}

// unread is a patch that may change anything in what it is for; without a selector in any object.
func (k *Kustomization) unread(file string, line int, to *selector, text string) {
	if to == nil {
		to = &selector{}
	}
	k.patches = append(k.patches, patch{file: file, line: line, to: *to, text: text})
}

// read reads the documents of a patch. line is that of a text inside of the
// kustomization, and 0 for a file of its own. With options it may change the kind and the name.
func (k *Kustomization) read(file string, line int, to *selector, text string, options bool) {
	for _, chunk := range yamledit.Split(file, []byte(text)) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			k.unread(file, max(line, chunk.Line+1), to, text)
			continue
		}
		root := doc.Root()
		if !root.Exists() {
			continue
		}
		if root.Get("items").Exists() || strings.Contains(text, localConfig) {
			k.unread(file, max(line, root.Line()), nil, text)
			continue
		}
		of := itself(root)
		if to != nil {
			of = *to
		}
		for _, p := range changes(root, options) {
			p.line, p.to, p.keepsContent = cmp.Or(line, p.line), of, ofName(p.path)
			k.patches = append(k.patches, p)
		}
	}
}

// textOf is a value as a text, with the keys of mappings in their order.
func textOf(n yamledit.Node) string { return fmt.Sprintf("%#v", n.Value()) }

// whole means an object that is replaced or deleted.
const whole = "the whole object"

// changes returns what a patch changes outside of labels and annotations: of a JSON patch its
// paths, of a merge patch its fields, and what else its options may let it change.
func changes(root yamledit.Node, options bool) (list []patch) {
	add := func(path string, at, value yamledit.Node) {
		list = append(list, patch{file: root.Document().File(), line: at.Line(), path: path, text: textOf(value)})
	}
	for _, op := range root.Items() {
		for _, key := range []string{"path", "from"} {
			if op.StringAt("op") == "test" || key == "from" && op.StringAt("op") != "move" || !op.Get(key).Exists() {
				continue
			}
			if path, counts := pointed(op.StringAt(key)); counts {
				add(path, op, op)
			}
		}
	}
	for _, e := range root.Entries() {
		switch e.Key {
		case "apiVersion", "kind", "metadata":
			if name := e.Value.Get("name"); options && name.Exists() {
				add("metadata.name", name, name)
			} else if options && e.Key == "kind" {
				add("kind", e.Value, e.Value)
			}
		case "$patch":
			add(whole, e.Value, e.Value)
		default:
			path, at := leaf(e.Key, e.Value)
			add(path, at, e.Value)
		}
	}
	return list
}

// pointed reads a JSON pointer as a path, and reports whether it counts.
func pointed(pointer string) (path string, counts bool) {
	words := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if words[0] == "" {
		return whole, true
	}
	for i, w := range words {
		words[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(w)
	}
	return strings.Join(words, "."), len(words) == 1 || words[0] != "metadata" || words[1] != "labels" && words[1] != "annotations"
}

// ofName reports whether a path leads to the name of an object or its namespace.
func ofName(path string) bool { return path == "metadata" || strings.HasPrefix(path, "metadata.") }

// localConfig is an annotation with which kustomize leaves an object out.
const localConfig = "config.kubernetes.io/local-config"

// leaf follows the first field of each mapping, as far as one leads to the next.
func leaf(path string, n yamledit.Node) (string, yamledit.Node) {
	for n.IsMap() && len(n.Entries()) > 0 {
		e := n.Entries()[0]
		path, n = path+"."+e.Key, e.Value
	}
	return path, n
}
