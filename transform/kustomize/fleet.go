// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	namespace = str(doc.Root(), "defaultNamespace")
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
	var files []string
	for _, name := range FleetNames(text) {
		for _, f := range []string{file, strings.TrimSuffix(file, ext) + "_patch" + ext} {
			if at := path.Join("overlays", name, f); !slices.Contains(files, at) {
				files = append(files, at)
			}
		}
	}
	return files
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
