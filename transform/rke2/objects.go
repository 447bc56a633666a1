// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"

	// authorizedKey is the annotation by which an object allows clusters to read it, with
	// their names between commas: rancher pkg/capr/planner/config.go at v2.8.5.
	authorizedKey = "rke.cattle.io/object-authorized-for-clusters"
)

// grouping says which documents describe a cluster together: the Cluster, and the objects
// that its machineSelectorFiles name and that hold a manager's configuration.
func grouping() transform.Grouping {
	return transform.Grouping{
		MayGroup: func(doc *yamledit.Document) bool { return len(configObjects(doc)) > 0 },
		Group: func(docs, related []*yamledit.Document) ([][]*yamledit.Document, error) {
			return lists.Map(docs, func(doc *yamledit.Document) []*yamledit.Document {
				return append(transform.Only(doc), objects(doc, related)...)
			}), nil
		},
		Related:    transform.Related{Words: transform.Words{{authorizedKey}, {leadermigration.Kind}}, Kinds: []string{kindSecret, kindConfigMap}},
		Configs:    transform.Related{Words: transform.Words{{aws.MachineConfigKind}}, Kinds: []string{aws.MachineConfigKind}},
		WithValues: transform.NoValues("the chart is edited in additionalManifest of the Cluster"),
	}
}

// objects returns those of the documents that a Cluster names, in the order of its
// entries.
func objects(cluster *yamledit.Document, docs []*yamledit.Document) []*yamledit.Document {
	return lists.Found(configObjects(cluster), func(o effective.Object) (*yamledit.Document, bool) {
		return lists.Find(docs, func(d *yamledit.Document) bool { return isObject(d, o, cluster) })
	})
}

// isObject reports whether a document is an object in the namespace of a cluster.
func isObject(doc *yamledit.Document, o effective.Object, cluster *yamledit.Document) bool {
	own := doc.Root().StringAt
	return own("kind") == o.Kind && own("metadata", "name") == o.Name && own("metadata", "namespace") == cluster.Root().StringAt("metadata", "namespace")
}

// configObjects returns the objects of which a Cluster writes a configuration that an
// argument of a manager names; each once. The document may be malformed.
func configObjects(doc *yamledit.Document) []effective.Object {
	type ofConfigs struct{}
	return yamledit.Derive(doc, ofConfigs{}, func() []effective.Object {
		sources := lists.Flat(doc.Root().Get("spec", "rkeConfig", filesKey).Items(), sourcesOf)
		if len(sources) == 0 {
			return nil
		}
		named := lists.Distinct(configFiles.FindAllString(string(doc.Root().JSON()), -1))
		writes := func(item rkev1.KeyToPath) bool { return writesConfig(named, item.Path) }
		return lists.Distinct(lists.Found(sources, func(s effective.FileSource) (effective.Object, bool) {
			return s.Object, slices.ContainsFunc(s.Items, writes)
		}))
	})
}

// configFiles finds the flag for a configuration with its file, wherever a text has it.
var configFiles = regexp.MustCompile(configFlag + `=[^"\\ ]*`)

// writesConfig reports whether a file is one with a configuration for leader migration, which one of the flags names.
func writesConfig(flags []string, file string) bool {
	named := configFlag + "=" + file
	names := func(flag string) bool { return strings.HasPrefix(flag, named) }
	return file == managerConfig || file != "" && slices.ContainsFunc(flags, names)
}

// authorizes reports whether an object allows a cluster to read it.
func authorizes(object *yamledit.Document, cluster string) bool {
	return slices.Contains(strings.Split(object.Root().StringAt("metadata", "annotations", authorizedKey), ","), cluster)
}

// valueOf returns what an object has for a key, as it is written to a file, and its node,
// which does not exist where the object lacks the key.
func valueOf(object *yamledit.Document, key string) (string, yamledit.Node) {
	if at := object.Root().Get("stringData", key); at.Exists() {
		return at.StringAt(), at
	}
	at := object.Root().Get("data", key)
	s, _ := at.String()
	if kind, _ := object.Root().Get("kind").String(); kind != kindSecret {
		return s, at
	}
	decoded, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	return string(decoded), at
}
