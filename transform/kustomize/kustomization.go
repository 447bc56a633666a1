// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"slices"
	"strings"

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
func texts(list yamledit.Node) []string {
	return lists.Found(list.Items(), yamledit.Node.String)
}
