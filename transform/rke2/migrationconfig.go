// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	configFlag = leadermigration.ConfigFlag
	// managerConfig is the file with kube-controller-manager's configuration, in the
	// folder where Rancher puts its own. RKE2 mounts a file that an argument names.
	managerConfig = "/etc/rancher/rke2/config/" + leadermigration.ConfigFile
	configSuffix  = "-leader-migration" // of the ConfigMap on Rancher's side
	configMapFile = "leadermigration-configmap.yaml"
)

// configured reports whether the managers get a configuration each: the operator
// asked for it, or the file already brings one to the control planes.
func (m *migration) configured() bool {
	return !m.Target.NoLeaderMigration &&
		(m.Target.LeaderMigrationConfig == transform.ConfigGenerate || slices.ContainsFunc(m.Files, bringsConfig))
}

// timings are the timings of short leases that arguments lack, where the managers get them.
func (m *migration) timings(list []args.Arg) []args.Arg {
	return leadermigration.Missing(m.Target.ShortLeases, list, leadermigration.KubeTimings())
}

// missingArgs are those that arguments need; a configuration that is named
// already stays.
func (m *migration) missingArgs(list []args.Arg) []args.Arg {
	named := args.Has(list, configFlag)
	return slices.Concat([]args.Arg{args.On(leaderFlag)}, lists.If(m.configured() && !named, args.With(configFlag, managerConfig)), m.timings(list))
}

// appendedArgs are those that rke-lm has added after others.
func (m *migration) appendedArgs(list []args.Arg) []args.Arg {
	timings := leadermigration.KubeTimings()
	return slices.Concat([]args.Arg{args.On(leaderFlag)},
		lists.If(args.Value(list, configFlag) == managerConfig, args.With(configFlag, managerConfig)),
		lists.If(leadermigration.HasTimings(list, timings) && isAppended(list, timings...), timings...))
}

// leaderFlags are the flags that leave arguments with the switch. A configuration
// of one's own stays, without effect: nothing else in the file would tell an undo
// of it.
func (m *migration) leaderFlags(list []args.Arg) []string {
	ours := m.configured() && args.Value(list, configFlag) == managerConfig
	return slices.Concat([]string{leaderFlag}, lists.If(ours, configFlag), leadermigration.LeavingTimings(list))
}

// deliverConfig brings the configuration to control planes whose manager reads it
// from the usual place and that do not get it yet.
func (m *migration) deliverConfig(e *yamledit.Edit) {
	if !m.configured() || !slices.ContainsFunc(m.Kinds, m.lacksConfig) {
		return
	}
	if list := m.RKEConfig().Get(filesKey); list.Len() > 0 {
		e.Append(list, m.fileEntry())
	} else {
		e.Put(m.RKEConfig(), []any{m.fileEntry()}, filesKey)
	}
}

func (m *migration) lacksConfig(c effective.Class) bool {
	if _, _, gets := m.Delivered(c, managerConfig); gets || !c.ControlPlane() {
		return false
	}
	a, named := args.Last(args.Of(m.Effective(c)[managerArgs].Value), configFlag)
	return !named || a.Value == managerConfig
}

// fileEntry is the entry of machineSelectorFiles for control planes.
func (m *migration) fileEntry() yamledit.Map {
	item := yamledit.Map{{Key: "key", Value: leadermigration.ConfigFile}, {Key: "path", Value: managerConfig}}
	from := yamledit.Map{{Key: "items", Value: []any{item}}, {Key: "name", Value: m.Name + configSuffix}}
	return yamledit.Map{{Key: "fileSources", Value: []any{yamledit.Map{{Key: "configMap", Value: from}}}}, onControlPlanes()}
}

// bringsConfig reports whether an entry writes the configuration to its usual place.
func bringsConfig(f effective.File) bool {
	_, _, found := f.Source(managerConfig)
	return found
}

// isOurs reports whether an entry is fileEntry.
func (m *migration) isOurs(f effective.File) bool {
	return yamledit.Same(f.Entry.Value(), asRead(m.fileEntry()))
}

// withdrawConfig takes the entry of deliverConfig away, and the key with the last
// one.
func (m *migration) withdrawConfig(e *transform.Reverse) {
	switch i := slices.IndexFunc(m.Files, m.isOurs); {
	case i < 0:
	case len(m.Files) > 1:
		e.Remove(m.Files[i].Entry)
	default:
		list := m.Files[i].Entry.Parent()
		e.Remove(list)
		e.Usual(list, "it contains nothing else, and was either absent or empty before")
	}
}

// ownConfigMap is the object with kube-controller-manager's configuration. Rancher reads it on its own side, where it has to be
// authorized for the cluster by an annotation.
func (m *migration) ownConfigMap() effective.Object {
	return effective.Object{Kind: kindConfigMap, Name: m.Name + configSuffix}
}

// suppliesConfig reports whether control planes get the configuration from rke-lm's own
// ConfigMap. One that was given is applied to Rancher by its user.
func (m *migration) suppliesConfig() bool {
	own := m.ownConfigMap()
	names := func(f effective.File) bool {
		return slices.ContainsFunc(f.Sources, func(s effective.FileSource) bool { return s.Object == own })
	}
	return m.configured() && m.given(own) == nil && (slices.ContainsFunc(m.Kinds, m.lacksConfig) || slices.ContainsFunc(m.Files, names))
}

// enableFiles returns the ConfigMap, for those who bring it to Rancher.
func (m *migration) enableFiles() ([]action.File, error) {
	if !m.suppliesConfig() {
		return nil, nil
	}
	config, err := leadermigration.Make(leadermigration.Config{Component: leadermigration.Manager, Kubernetes: m.Version, Lease: m.Target.LeaseName})
	if err != nil {
		return nil, err
	}
	text, err := ccm.Holding(kindConfigMap, yamledit.Map{
		{Key: "annotations", Value: yamledit.Map{{Key: authorizedKey, Value: m.Name}}},
		{Key: "name", Value: m.Name + configSuffix},
		{Key: "namespace", Value: m.Namespace},
	}, "data", leadermigration.ConfigFile, config)
	return []action.File{{Name: configMapFile, Content: text}}, err
}

// completeConfig adds the ConfigMap that a chart mounts, or will mount, where the
// manifest lacks it.
func (m *migration) completeConfig(ed ccm.Edits, chart ccm.Chart) {
	if file := chart.ConfigFile(); !m.configured() || file != "" && !chart.OwnConfig() || ccm.FindMigrationConfig(ed.Documents()) >= 0 {
		return
	}
	text, err := ccm.MigrationConfigManifest(m.RKEConfig(), m.Version, cmp.Or(chart.ImageTag(), m.chartOptions().Tag()), m.Target.LeaseName)
	ed.File.Fail(err)
	ed.In.Append(text)
}

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
	if object.Root().StringAt("kind") != kindSecret {
		return at.StringAt(), at
	}
	decoded, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(at.StringAt()))
	return string(decoded), at
}
