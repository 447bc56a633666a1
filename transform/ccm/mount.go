// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

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

func (m mount) volume() yamledit.Map {
	return yamledit.Map{{Key: "name", Value: m.name}, m.source}
}

func (m mount) mounted() yamledit.Map {
	return yamledit.Map{{Key: "name", Value: m.name}, {Key: "mountPath", Value: m.folder}, {Key: "readOnly", Value: true}}
}

// addMounts adds mounts to the chart's values.
func addMounts(e *yamledit.Edit, root yamledit.Node, mounts ...mount) {
	var volumes, mounted []any
	for _, m := range mounts {
		volumes, mounted = append(volumes, m.volume()), append(mounted, m.mounted())
	}
	appendOrInsert(e, root, volumesKey, volumes)
	appendOrInsert(e, root, mountsKey, mounted)
}

func appendOrInsert(e *yamledit.Edit, root yamledit.Node, key string, items []any) {
	if len(items) == 0 {
		return
	}
	switch at := root.Get(key); {
	case at.IsList() && at.Len() > 0:
		for _, v := range items {
			e.Append(at, v)
		}
	case at.Exists():
		e.Set(at, items)
	default:
		e.Insert(root, key, items)
	}
}

// removeMount takes a volume and its mounts out of the chart's values, and the
// lists that held nothing else. A list with comments is somebody's own and stays,
// empty.
func removeMount(e *yamledit.Edit, root yamledit.Node, volume string) {
	for _, key := range []string{volumesKey, mountsKey} {
		at := root.Get(key)
		gone := slices.DeleteFunc(at.Items(), func(n yamledit.Node) bool { return text(n, "name") != volume })
		if len(gone) > 0 && len(gone) == at.Len() && len(at.Comments()) == 0 {
			e.Remove(at)
			continue
		}
		for _, n := range gone {
			e.Remove(n)
		}
	}
}

// checkMounting fails where files would have to be mounted by a chart that cannot
// do it, and would leave them out without a word.
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
func (c Chart) mountOf(file string) (volume yamledit.Node, key string) {
	for _, m := range c.Values.Get(mountsKey).Items() {
		at, inside := path.Clean(text(m, "mountPath")), text(m, "subPath")
		switch {
		case at == file && inside != "":
			key = inside
		case at == path.Dir(file):
			key = path.Base(file)
		default:
			continue
		}
		for _, v := range c.Values.Get(volumesKey).Items() {
			if text(v, "name") == text(m, "name") {
				return v, key
			}
		}
	}
	return yamledit.Node{}, ""
}
