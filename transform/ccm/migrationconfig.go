// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
