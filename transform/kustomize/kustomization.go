// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
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
	if api := str(root, "apiVersion"); api != "" && !strings.HasPrefix(api, "kustomize.config.k8s.io/") {
		return nil, false
	}
	return &Kustomization{
		File: file, Folder: folder, root: root,
		prefix: str(root, "namePrefix"), suffix: str(root, "nameSuffix"), namespace: str(root, "namespace"),
	}, true
}

// Refs returns the files and folders that the kustomization takes objects or
// components from, as it writes them.
func (k *Kustomization) Refs() []string {
	return slices.Concat(texts(k.root.Get("resources")), texts(k.root.Get("bases")), texts(k.root.Get("components")))
}

// Components are those of Refs whose patches the kustomization takes over.
func (k *Kustomization) Components() []string { return texts(k.root.Get("components")) }

// PatchFiles returns the files that hold its patches, as it writes them.
func (k *Kustomization) PatchFiles() []string {
	var files []string
	for _, key := range []string{"patches", "patchesJson6902"} {
		for _, item := range k.root.Get(key).Items() {
			if path := str(item, "path"); path != "" {
				files = append(files, path)
			}
		}
	}
	return append(files, lists.Where(texts(k.root.Get("patchesStrategicMerge")), func(text string) bool { return !strings.Contains(text, "\n") })...)
}

func str(n yamledit.Node, keys ...string) string {
	s, _ := n.Get(keys...).String()
	return s
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
