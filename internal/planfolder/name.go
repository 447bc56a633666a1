// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Place returns where the plan of a cluster goes below the folder that the user
// named: its namespace and name, or its folder, file and number where it has no
// name: many a cluster is the cluster.yml of a folder.
// Kubernetes calls the namespace that is not named default.
func Place(s plan.Saved) string {
	namespace, name := cmp.Or(s.Cluster.Namespace, "default"), s.Cluster.Name
	if name == "" {
		base := filepath.Base(s.Source.File)
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(base, filepath.Ext(base)), s.Source.Document)
		if s.Source.Path != "" {
			name = filepath.Base(filepath.Dir(s.Source.Path)) + "-" + name
		}
	}
	if s.Upgrade != "" {
		name += ".to-" + s.Upgrade
	}
	return filepath.Join(sanitise(namespace), sanitise(name))
}

// Document names a document of a cluster that has several, by its kind and its name, or by its
// file where it is no object.
func Document(doc *yamledit.Document) string {
	kind, _ := doc.Root().Get("kind").String()
	name, _ := doc.Root().Get("metadata", "name").String()
	if kind == "" && name == "" {
		return sanitise(strings.TrimSuffix(filepath.Base(doc.File()), filepath.Ext(doc.File())))
	}
	return sanitise(strings.TrimSuffix(strings.ToLower(kind)+"-"+name, "-"))
}

// unsafe is what a name cannot have that is one folder everywhere and not hidden.
var unsafe = regexp.MustCompile(`^\.|[^a-zA-Z0-9._-]`)

func sanitise(name string) string { return unsafe.ReplaceAllString(name, "-") }
