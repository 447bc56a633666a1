// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	configFile = leadermigration.ConfigFile
	volumeName = "leader-migration-config"
)

// volumesAt returns what holds the list of a manifest's volumes, and its key.
func (m *Manifest) volumesAt() (holder yamledit.Node, key string) {
	if m.Kind == kindConfiguration {
		return m.Root.Get("controllerManager"), "extraVolumes"
	}
	return m.pod, "volumes"
}

func (m *Manifest) volumes() []yamledit.Node {
	holder, key := m.volumesAt()
	return holder.Get(key).Items()
}

// mounts are those of the container: in a ClusterConfiguration a volume is its own mount.
func (m *Manifest) mounts() []yamledit.Node {
	if m.Kind == kindConfiguration {
		return m.volumes()
	}
	return m.program.container.Get("volumeMounts").Items()
}

// mountOf returns the innermost mount through which the container sees a file.
func (m *Manifest) mountOf(file string) yamledit.Node {
	var found yamledit.Node
	for _, n := range m.mounts() {
		at := strings.TrimSuffix(n.StringAt("mountPath"), "/")
		if (file == at || strings.HasPrefix(file, at+"/")) && len(at) >= len(strings.TrimSuffix(found.StringAt("mountPath"), "/")) {
			found = n
		}
	}
	return found
}

// volumeOf returns the volume of a mount.
func (m *Manifest) volumeOf(mount yamledit.Node) yamledit.Node {
	if m.Kind == kindConfiguration {
		return mount
	}
	v, _ := lists.Find(m.volumes(), func(v yamledit.Node) bool { return mount.Exists() && v.StringAt("name") == mount.StringAt("name") })
	return v
}

// mounted reports whether the container sees a file of a volume.
func (m *Manifest) mounted(file string) bool { return m.volumeOf(m.mountOf(file)).Exists() }

// mount brings the configuration into the container, read-only: from the host of
// a static pod, and from a ConfigMap where the pods have no host of their own.
func (m *Manifest) mount(e *yamledit.Edit, file string) {
	if v, taken := lists.Find(m.volumes(), func(v yamledit.Node) bool { return v.StringAt("name") == volumeName }); taken {
		e.Fail(v.Errorf("another volume has the name "+volumeName, "rename it"))
	}
	if at := m.mountOf(file); at.StringAt("mountPath") == file {
		e.Fail(at.Errorf("it mounts a volume that does not exist", "remove the mount, or add its volume"))
	}
	holder, key := m.volumesAt()
	if m.Kind == kindConfiguration {
		add(e, holder, key, yamledit.Map{
			{Key: "name", Value: volumeName}, {Key: "hostPath", Value: file}, {Key: "mountPath", Value: file},
			{Key: "readOnly", Value: true}, {Key: "pathType", Value: "File"},
		})
		return
	}
	mount := yamledit.Map{{Key: "mountPath", Value: file}, {Key: "name", Value: volumeName}, {Key: "readOnly", Value: true}}
	volume := yamledit.Map{{Key: "hostPath", Value: yamledit.Map{{Key: "path", Value: file}, {Key: "type", Value: "File"}}}, {Key: "name", Value: volumeName}}
	if m.Kind != kindPod {
		mount = append(mount, yamledit.Pair{Key: "subPath", Value: configFile})
		volume[0] = yamledit.Pair{Key: "configMap", Value: yamledit.Map{{Key: "name", Value: m.configMap()}}}
	}
	add(e, m.program.container, "volumeMounts", mount)
	add(e, holder, key, volume)
}

// configMap is the name of the ConfigMap that carries the configuration.
func (m *Manifest) configMap() string { return m.Component + "-leader-migration" }

// add puts an item at the end of a list that may be absent.
func add(e *yamledit.Edit, holder yamledit.Node, key string, item yamledit.Map) {
	list := holder.Get(key)
	item = like(list, item)
	if list.IsList() {
		e.Append(list, item)
	} else {
		e.Put(holder, []any{item}, key)
	}
}

// like puts the name first where the items of a list begin with theirs.
func like(list yamledit.Node, item yamledit.Map) yamledit.Map {
	items := list.Items()
	if len(items) == 0 || len(items[0].Entries()) == 0 || items[0].Entries()[0].Key != "name" {
		return item
	}
	i := slices.IndexFunc(item, func(p yamledit.Pair) bool { return p.Key == "name" })
	return slices.Concat(item[i:i+1], item[:i], item[i+1:])
}

// unmount takes the mount of a file away, and its volume if nothing else uses it.
// A folder that holds the file among others stays.
func (m *Manifest) unmount(e *yamledit.Edit, file string) {
	mount := m.mountOf(file)
	if mount.StringAt("mountPath") != file {
		return
	}
	volume := m.volumeOf(mount)
	drop(e, mount)
	if volume.Exists() && !volume.Same(mount) && m.uses(volume.StringAt("name")) == 1 {
		drop(e, volume)
	}
}

// uses counts the mounts of a volume in all containers of the pod.
func (m *Manifest) uses(volume string) int {
	containers := slices.Concat(m.pod.Get("containers").Items(), m.pod.Get("initContainers").Items())
	mounts := lists.Flat(containers, func(c yamledit.Node) []yamledit.Node { return c.Get("volumeMounts").Items() })
	return len(lists.Where(mounts, func(n yamledit.Node) bool { return n.StringAt("name") == volume }))
}

// drop removes an item, and its list with the last one. A list with comments is
// someone's own and stays, empty.
func drop(e *yamledit.Edit, item yamledit.Node) {
	if list := item.Parent(); list.Len() == 1 && len(list.Comments()) == 0 {
		e.Remove(list)
		return
	}
	e.Remove(item)
}
