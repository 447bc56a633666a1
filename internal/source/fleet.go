// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// fleet returns what Fleet lays over a file of the bundle that it belongs to, and the bundle's options.
func (o *Overlays) fleet(file, top string, shown func(string) string) (use kustomize.Use) {
	use.Roots = []string{filepath.Dir(file)}
	for dir := use.Roots[0]; ; dir = filepath.Dir(dir) {
		text, err := o.Version.Read(filepath.Join(dir, kustomize.FleetFile))
		rel, outside := filepath.Rel(dir, file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != top && dir != filepath.Dir(dir):
			continue
		case errors.Is(err, fs.ErrNotExist) || outside != nil:
			return use
		}
		if over, is := strings.CutPrefix(filepath.ToSlash(rel), "overlays/"); is {
			overlay, name, _ := strings.Cut(over, "/")
			if of, patch := strings.CutSuffix(name, "_patch"+filepath.Ext(name)); patch {
				name = of + filepath.Ext(name)
			}
			use.Roots = nil // it is laid over another file
			if _, err := o.Version.Read(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
				use.Roots = []string{filepath.Dir(file), "overlay " + filepath.Join(dir, overlay)}
			}
			return use
		}
		ignored, _ := o.Version.Read(filepath.Join(dir, kustomize.FleetIgnore))
		use.Roots = append(use.Roots, "bundle "+dir)
		use.Roots = append(use.Roots, lists.Map(kustomize.FleetNames(text), func(overlay string) string { return "overlay " + filepath.Join(dir, overlay) })...)
		use.Default, use.Bundle = kustomize.FleetOptions(text)
		use.Bundle += string(ignored)
		if err != nil {
			use.Bundle += err.Error()
		}
		for _, over := range kustomize.FleetOverlays(text, filepath.ToSlash(rel)) {
			path := filepath.Join(dir, over)
			if text, err := o.Version.Read(path); err == nil && path != file {
				use.Layers = append(use.Layers, kustomize.FleetOverlay(shown(path), text))
			}
		}
		return use
	}
}
