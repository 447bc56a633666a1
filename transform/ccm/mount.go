// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	volumesKey = "extraVolumes"
	mountsKey  = "extraVolumeMounts"
	// oldestMounting is the first chart with these two keys (its values.yaml).
	oldestMounting = "v0.0.7"
)

// mount is a Secret or ConfigMap that the manager finds in a folder.
type mount struct {
	name   string // of the volume
	source yamledit.Pair
	folder string
}

// addMounts adds mounts to the chart's values.
func (w writing) addMounts(mounts ...mount) {
	w.add(volumesKey, lists.Map(mounts, func(m mount) any { return yamledit.Map{{Key: "name", Value: m.name}, m.source} })...)
	w.add(mountsKey, lists.Map(mounts, func(m mount) any {
		return yamledit.Map{{Key: "name", Value: m.name}, {Key: "mountPath", Value: m.folder}, {Key: "readOnly", Value: true}}
	})...)
}

// removeMount takes a volume and its mounts out of the chart's values, and the
// lists that held nothing else. A list with comments is someone's own and stays,
// empty.
func (w writing) removeMount(volume string) {
	for _, key := range []string{volumesKey, mountsKey} {
		p, list := w.list(key)
		removed := lists.Where(list.Items(), func(n yamledit.Node) bool { return n.StringAt("name") == volume })
		if len(removed) > 0 && len(removed) == list.Len() && len(list.Comments()) == 0 {
			p.edit.Remove(list)
			continue
		}
		for _, n := range removed {
			p.edit.Remove(n)
		}
	}
}

// mounts reports whether the chart has the volume of a mount.
func (c Chart) mounts(m mount) bool {
	return slices.ContainsFunc(c.list(volumesKey), func(v any) bool { return nameOf(v) == m.name })
}

func nameOf(v any) string { return textIn(v, "name") }

// textIn returns the string at a path in values, or "".
func textIn(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

// checkMounting fails where files would have to be mounted by a chart that cannot
// do it, and would leave them out silently.
func checkMounting(at yamledit.Node, version string) error {
	if !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	if semver.IsValid(version) && semver.Compare(version, oldestMounting) < 0 {
		return at.Errorf("a chart older than 0.0.7 mounts no configuration", "use --chart-version "+DefaultVersion)
	}
	return nil
}

// mountOf returns the volume that puts a file into the manager's container, and
// what the file is called in it.
func (c Chart) mountOf(file string) (volume map[string]any, key string) {
	for _, m := range c.list(mountsKey) {
		at, inside := path.Clean(textIn(m, "mountPath")), textIn(m, "subPath")
		switch {
		case at == file && inside != "":
			key = inside
		case at == path.Dir(file):
			key = path.Base(file)
		default:
			continue
		}
		for _, v := range c.list(volumesKey) {
			if volume, isMap := v.(map[string]any); isMap && nameOf(v) == nameOf(m) {
				return volume, key
			}
		}
	}
	return nil, ""
}
