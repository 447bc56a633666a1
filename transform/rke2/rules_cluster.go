// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// notMigratable finds what the other verbs refuse, and machines that run Windows.
func (m *migration) notMigratable(found *transform.Findings) {
	for _, class := range m.Classes {
		if class.Windows() {
			found.At(class.Pool, "these machines run Windows", "plan for their restart, and verify them manually").Severity = transform.Warning
		}
	}
	found.Add(transform.NotMigratableIn(cmp.Or(m.checkProvider(), m.checkCloud()))...)
}

func (m *migration) snapshotMissing(found *transform.Findings) {
	etcd := m.RKEConfig().Get("etcd")
	if off, _ := etcd.Get("disableSnapshots").Value().(bool); off {
		found.At(etcd.Get("disableSnapshots"), "etcd snapshots are disabled", "enable them, or take one manually before every stage")
		return
	}
	for _, key := range []string{"snapshotScheduleCron", "snapshotRetention", "s3"} {
		if n := etcd.Get(key); n.Exists() && !n.IsNull() {
			return
		}
	}
	found.At(yamledit.First(etcd, m.RKEConfig()), "no etcd snapshots are configured", "set etcd.snapshotScheduleCron and etcd.snapshotRetention, or take one manually before every stage")
}

// manifestOverwritten finds documents of additionalManifest that are one object
// of the cluster: RKE2 applies them by their names, and the last one wins. An
// edit of a stage cannot take a document out, which its proof makes sure of, but
// a document that it adds could have the name of another.
func (m *migration) manifestOverwritten(found *transform.Findings) {
	docs, _ := m.manifests()
	first := map[string]int{}
	for i, d := range docs {
		id, isObject := objectOf(d.Root())
		if !isObject {
			continue
		}
		if earlier, twice := first[id]; twice {
			found.Add(m.bundle().Finding(i, d.Root(), fmt.Sprintf("this document is the same object as document [%d] of the manifest and overwrites it in the cluster", earlier), "join the two, or rename one"))
			continue
		}
		first[id] = i
	}
	m.chartTwice(found)
}

func (m *migration) storageClassInTree(found *transform.Findings) {
	docs, _ := m.manifests()
	rules.InTreeClasses(docs, m.RKEConfig().Get(manifestKey), found)
}

// objectOf identifies an object: its group, whatever the version, its kind,
// namespace and name.
func objectOf(root yamledit.Node) (id string, ok bool) {
	field := root.StringAt
	group, _, grouped := strings.Cut(field("apiVersion"), "/")
	if !grouped {
		group = ""
	}
	kind, name := field("kind"), field("metadata", "name")
	return strings.Join([]string{group, kind, field("metadata", "namespace"), name}, "\x00"), kind != "" && name != ""
}
