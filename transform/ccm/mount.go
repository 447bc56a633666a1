// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
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
	m, _ := v.(map[string]any)
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}

// checkMounting fails where files would have to be mounted by a chart that cannot
// do it, and would leave them out silently.
func checkMounting(at yamledit.Node, version string) error {
	version = "v" + strings.TrimPrefix(version, "v")
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

const (
	// CloudConfigSecret is the Secret in kube-system whose key CloudConfigKey
	// holds the provider's configuration.
	CloudConfigSecret = aws.CloudConfig
	// CloudConfigKey is the key and the name of the file.
	CloudConfigKey = "cloud.conf"

	cloudConfigFolder = "/etc/" + aws.CloudConfig
	cloudConfigArg    = "--cloud-config=" + cloudConfigFolder + "/" + CloudConfigKey
)

// cloudConfigMount is where the manager finds it.
var cloudConfigMount = mount{
	name:   CloudConfigSecret,
	source: yamledit.Pair{Key: "secret", Value: yamledit.Map{{Key: "secretName", Value: CloudConfigSecret}}},
	folder: cloudConfigFolder,
}

// CloudConfigManifest returns a Secret with a provider's configuration.
func CloudConfigManifest(config string) (string, error) {
	return Holding("Secret", kubeSystem(CloudConfigSecret), "stringData", CloudConfigKey, config)
}

// kubeSystem is the metadata of an object next to the manager.
func kubeSystem(name string) yamledit.Map {
	return yamledit.Map{{Key: "name", Value: name}, {Key: "namespace", Value: "kube-system"}}
}

// Holding returns an object that holds a text byte for byte.
func Holding(kind string, metadata yamledit.Map, field, key, content string) (string, error) {
	d, err := yamledit.ParseString("manifest.yaml", "apiVersion: v1\nkind: "+kind+"\nmetadata: {}\n"+field+":\n  "+key+": \"\"\n")
	if err != nil {
		return "", err
	}
	e := d.Edit()
	e.Set(d.Root().Get("metadata"), metadata)
	e.Set(d.Root().Get(field, key), content)
	after, _, err := e.Apply()
	if err != nil {
		return "", err
	}
	return string(after.Bytes()), nil
}

const (
	// MigrationConfigMap is the ConfigMap in kube-system with the manager's
	// LeaderMigrationConfiguration.
	MigrationConfigMap = aws.MigrationConfigMap

	migrationFolder = "/etc/leader-migration"
	migrationFile   = migrationFolder + "/" + leadermigration.ConfigFile
	migrationArg    = "--" + leadermigration.ConfigFlag + "=" + migrationFile
)

// migrationMount is where the manager finds it.
var migrationMount = mount{
	name:   MigrationConfigMap,
	source: yamledit.Pair{Key: "configMap", Value: yamledit.Map{{Key: "name", Value: MigrationConfigMap}}},
	folder: migrationFolder,
}

// MigrationConfigManifest returns the ConfigMap with the LeaderMigrationConfiguration
// for an image with a tag, in a cluster of a release; an error is about at where none can
// be made.
func MigrationConfigManifest(at yamledit.Node, release, tag, lease string) (string, error) {
	config, err := leadermigration.Make(leadermigration.Config{Component: leadermigration.CloudManager, Kubernetes: release, CCM: tag, Lease: lease})
	if err != nil {
		return "", at.Errorf("no configuration can be made for an image with this tag: "+err.Error(), "choose a release with --ccm-image-tag")
	}
	return Holding("ConfigMap", kubeSystem(MigrationConfigMap), "data", leadermigration.ConfigFile, config)
}

// FindMigrationConfig returns the index of the ConfigMap that MigrationConfigManifest
// makes, whatever it holds, or -1.
func FindMigrationConfig(docs []*yamledit.Document) int {
	return slices.IndexFunc(docs, func(d *yamledit.Document) bool { return isConfigMap(d.Root(), MigrationConfigMap) })
}

func isConfigMap(root yamledit.Node, name string) bool {
	return root.StringAt("kind") == "ConfigMap" && root.StringAt("metadata", "name") == name && root.StringAt("metadata", "namespace") == leadermigration.Namespace
}

// ConfigFile returns the file that the manager reads its
// LeaderMigrationConfiguration from, or "".
func (c Chart) ConfigFile() string { return args.Value(c.Args(), leadermigration.ConfigFlag) }

// OwnConfig reports whether that file is the one that rke-lm mounts.
func (c Chart) OwnConfig() bool { return c.ConfigFile() == migrationFile }

// ConfigMounted reports whether the chart's values mount that file.
func (c Chart) ConfigMounted() bool {
	volume, _ := c.mountOf(c.ConfigFile())
	return volume != nil
}

// Config returns the text of the manager's configuration where a ConfigMap among
// the documents holds it, and the index of that document.
func (c Chart) Config(docs []*yamledit.Document) (yamledit.Node, int) {
	volume, key := c.mountOf(c.ConfigFile())
	name := textIn(volume, "configMap", "name")
	source, _ := volume["configMap"].(map[string]any)
	items, _ := source["items"].([]any)
	for _, item := range items {
		if textIn(item, "path") == key {
			key = textIn(item, "key")
			break
		}
	}
	i := slices.IndexFunc(docs, func(d *yamledit.Document) bool { return name != "" && isConfigMap(d.Root(), name) })
	if i < 0 {
		return yamledit.Node{}, i
	}
	return docs[i].Root().Get("data", key), i
}
