// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// FileNames are the names that kustomize reads in a folder.
func FileNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// Kustomization is a kustomization file.
type Kustomization struct {
	File   string // as messages name it
	Folder string // as commands name it; "" for an overlay of Fleet

	root    yamledit.Node
	patches []patch
	made    string // a digest of all that it is made of, if it copies values
	in      string // the file of the kustomization that has it as a component, or ""
	// prefix, suffix and namespace are what it adds to names.
	prefix, suffix, namespace string
}

// Load returns the text of a file that a kustomization names, and how messages
// name it.
type Load func(path string) (file string, text []byte, err error)

// Parse reads a kustomization; ok is false for any other text. What is next to it
// is read by Resolve.
func Parse(file, folder string, text []byte) (k *Kustomization, ok bool) {
	doc, err := yamledit.ParseString(file, string(text))
	if err != nil || !doc.Root().IsMap() {
		return nil, false
	}
	root := doc.Root()
	// Flux has objects of the same kind in another group.
	if api := root.StringAt("apiVersion"); api != "" && !strings.HasPrefix(api, "kustomize.config.k8s.io/") {
		return nil, false
	}
	return &Kustomization{
		File: file, Folder: folder, root: root,
		prefix: root.StringAt("namePrefix"), suffix: root.StringAt("nameSuffix"), namespace: root.StringAt("namespace"),
	}, true
}

// Refs returns the files and folders that the kustomization takes objects or
// components from, as it writes them.
func (k *Kustomization) Refs() []string {
	return lists.Found(k.items("resources", "bases", "components"), yamledit.Node.String)
}

// Components are those of Refs whose patches the kustomization takes over.
func (k *Kustomization) Components() []string { return texts(k.root.Get("components")) }

// PatchFiles returns the files that hold its patches, as it writes them.
func (k *Kustomization) PatchFiles() []string {
	files := lists.Found(k.items("patches", "patchesJson6902"), func(item yamledit.Node) (string, bool) {
		path := item.StringAt("path")
		return path, path != ""
	})
	return append(files, lists.Where(texts(k.root.Get("patchesStrategicMerge")), func(text string) bool { return !strings.Contains(text, "\n") })...)
}

// items are those of the lists of some keys.
func (k *Kustomization) items(keys ...string) []yamledit.Node {
	return lists.Flat(keys, func(key string) []yamledit.Node { return k.root.Get(key).Items() })
}

// texts returns the strings of a list.
func texts(list yamledit.Node) []string { return lists.Found(list.Items(), yamledit.Node.String) }

// Known is a cluster as it is known by its name: in all files, or in what is applied together.
type Known struct {
	transform.Identity
	Root string // a folder, kustomization, bundle or stream; "" for all files
}

// Known is what the cluster of a document is known by, in all files first; nothing if the document is applied with
// another one. The name of one of several documents is that of an object, which each cluster may have: it counts where
// several folders are applied together.
func (u Use) Known(id transform.Identity, several bool) []Known {
	named, roots := u.Named(id), u.Roots
	switch {
	case id.Name == "" || len(roots) == 0:
		return nil
	case several:
		roots = roots[1:]
	default:
		roots = append([]string{""}, roots...)
	}
	return lists.Map(roots, func(root string) Known { return Known{named, root} })
}

// Places are where clusters are described, by what they are known by. Of each two are kept: that is enough to name
// another one.
type Places map[Known][]string

// Add adds a place.
func (p Places) Add(key Known, place string) {
	if len(p[key]) < 2 && !slices.Contains(p[key], place) {
		p[key] = append(p[key], place)
	}
}

// Other returns another place than one; "" for none.
func (p Places) Other(key Known, place string) string {
	other, _ := lists.Find(p[key], func(other string) bool { return other != place })
	return other
}

// FleetFile is the name of the file that makes a folder a bundle of Fleet.
const FleetFile = "fleet.yaml"

// FleetIgnore is the name of the file with the names that Fleet leaves out of a bundle.
const FleetIgnore = ".fleetignore"

// unchanging are the keys of a fleet.yaml that change no object of the bundle.
var unchanging = []string{"dependsOn", "diff", "ignore", "keepResources", "labels", "overrideTargets", "rolloutStrategy"}

// FleetOptions returns the default namespace of a fleet.yaml, and the other keys that can change an object as a text: "" for
// none, and all of a file that cannot be read.
func FleetOptions(text []byte) (namespace, others string) {
	doc, err := yamledit.ParseString(FleetFile, string(text))
	if err != nil {
		return "", string(text)
	}
	options, _ := doc.Root().Value().(map[string]any)
	for _, key := range append(unchanging, "defaultNamespace") {
		delete(options, key)
	}
	namespace = doc.Root().StringAt("defaultNamespace")
	if len(options) == 0 {
		return namespace, ""
	}
	return namespace, yamledit.JSON(options)
}

// FleetNames returns the names of the overlays that a fleet.yaml uses.
func FleetNames(text []byte) []string {
	doc, err := yamledit.ParseString(FleetFile, string(text))
	if err != nil {
		return nil
	}
	used := func(n yamledit.Node) []string { return texts(n.Get("yaml", "overlays")) }
	return append(used(doc.Root()), lists.Flat(doc.Root().Get("targetCustomizations").Items(), used)...)
}

// FleetOverlays returns the files that Fleet lays over one of a bundle of plain
// YAML, whose path is relative to the bundle: for each overlay that a target names,
// overlays/NAME/FILE replaces it, and overlays/NAME/FILE_patch changes it.
func FleetOverlays(text []byte, file string) []string {
	ext := path.Ext(file)
	patch := strings.TrimSuffix(file, ext) + "_patch" + ext
	return lists.Distinct(lists.Flat(FleetNames(text), func(name string) []string {
		return []string{path.Join("overlays", name, file), path.Join("overlays", name, patch)}
	}))
}

// FleetOverlay is a file that Fleet lays over another one.
func FleetOverlay(file string, text []byte) *Kustomization {
	k := &Kustomization{File: file}
	if !strings.HasSuffix(strings.TrimSuffix(file, path.Ext(file)), "_patch") {
		k.patches = []patch{{file: file, line: 1, path: whole, text: string(text)}}
		return k
	}
	k.read(file, 0, nil, string(text), false)
	return k
}
