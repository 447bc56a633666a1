// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rke1 plans the migration of clusters that RKE describes: a
// cluster.yml, the same below rancher_kubernetes_engine_config, and Rancher's
// API JSON.
//
// Invariant: a key is looked up by what RKE calls it, however the document spells
// it, and what an edit adds is spelt as the document spells its neighbours. RKE's
// own types read and check; they never write.
package rke1

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Format returns RKE in the shape of all formats. It has no effective
// configuration to explain: every machine gets what the file says.
func Format() transform.Format {
	return transform.Format{
		Name:      Name,
		Document:  "the configuration of an RKE cluster (cluster.yml)",
		Words:     words,
		Plausible: plausible,
		Owns:      IsCluster,
		Identify:  identify,
		Open:      open,
		Lint:      lint,
		Deliver:   deliver,
		IsObject:  isObject,
		Kept:      kept,
		Grouping:  transform.OneDocument(withValues), // and the values file that the operator names
		Rules:     transform.RulesOf(ruleTable()),
		// RKE alone runs its managers outside of pods, and writes its label for control planes without a hyphen.
		Live: transform.Live{
			Kind:     transform.Management,
			Snapshot: transform.SnapshotByObject{Kind: "EtcdBackup", Make: backup, Taken: backupTaken},
			Restart:  func(bool) string { return "docker restart kubelet" },
			Shows: func(t transform.Traits) bool {
				return !t.ManagerPods && t.NodeLabel("node-role.kubernetes.io/controlplane")
			},
		},
	}
}

// migration is a cluster and what its operator wants.
type migration struct {
	*Cluster
	file *ccm.Chart // of the values file; nil where the operator names none
	stages.Migration
}

func open(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	c, err := load(docs[0])
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(c.checkProvider(), c.setVersion(target.AssumeVersion), c.checkMinor()); err != nil {
		return nil, err
	}
	if target.EndState == transform.EndStateOverride {
		return nil, c.Config.Errorf("RKE does not support the end state "+target.EndState+": it takes the name of nodes from "+metadataKey, "remove --end-state, or use external")
	}
	m, err := migrationOf(c, docs, target)
	if err := cmp.Or(err, m.checkOneManager(), m.checkOwnValues()); err != nil {
		return nil, err
	}
	m.Electors = m.managing()
	// Without a values file no document shows the image of the cloud-controller-manager.
	check := func() error {
		return checkMinor(m.move().At, m.Target.Version, "choose one of these with --target-version")
	}
	path := k8s.UpgradePath{Migrated: m.migrated, OldImage: m.oldImage, Newest: newestOf, Check: check}
	if m.Target, err = m.move().Decide(m.Target, path); err != nil {
		return nil, err
	}
	m.Target, err = m.Timed(m.Config)
	return m, cmp.Or(err, m.chartOptions(m.Version).CheckMounting(m.Config))
}

// lint opens a cluster for its findings, whatever its provider. Manifests that
// cannot be read leave what the rest of the file shows.
func lint(docs []*yamledit.Document, target transform.Target) (transform.Cluster, error) {
	c, err := Open(docs[0], target.AssumeVersion)
	if err != nil {
		return nil, err
	}
	m, err := migrationOf(c, docs, target)
	if err != nil {
		return nil, err
	}
	_, err = m.Bundle().Documents()
	return m, err
}

// migrationOf also reads the file with the values of the chart, which the operator names, as no document of RKE does: it comes
// after the one that names the cluster.
func migrationOf(c *Cluster, docs []*yamledit.Document, target transform.Target) (m *migration, err error) {
	m = &migration{Cluster: c, Migration: stages.Migration{Target: target, Selector: controlPlaneNodeLabel}}
	if len(docs) > 1 {
		m.file = new(ccm.Chart)
		*m.file, err = ccm.FromValues(docs[1].Root())
	}
	m.Target = target.In(m.situation())
	return m, err
}

// Identity implements transform.Cluster.
func (m *migration) Identity() transform.Identity {
	return transform.Identity{Format: Name, Name: m.Name, Version: m.Version}
}

// Documents implements transform.Cluster.
func (m *migration) Documents() []*yamledit.Document {
	if m.file == nil {
		return transform.Only(m.Doc)
	}
	return []*yamledit.Document{m.Doc, m.file.Root.Document()}
}

// Stages implements transform.Cluster.
func (m *migration) Stages() []transform.Listed {
	return m.InOrder(stages.Set{
		Grant: m.grantMigrationLease, Enable: m.enableLeaderMigration, Install: m.installCCM,
		Cordon: m.cordon().Stage, Switch: m.switchToExternal, Uncordon: m.cordon().Release,
		Disable: m.disableLeaderMigration,

		UpgradeKubernetes: m.upgradeKubernetes, UpgradeCCM: m.upgradeCCM,
	})
}

// managing are the managers of the file, and of the one with the chart's values.
func (m *migration) managing() stages.Electors {
	e := stages.Electors{At: m.Config, Cluster: semver.MajorMinor(m.Version), Release: semver.MajorMinor(m.chartOptions(m.Version).Tag()), Kube: m.argsOf(manager)}
	if m.file != nil {
		chart := m.file // which helm may not have installed yet
		e.Show(chart.Args(), chart.ImageTag(), chart.Migrates(), m.isExternal() && m.Target.Situation != transform.Broken)
		e.Runs = chart.Migrates()
	}
	if w, found := rules.Workload(m.Bundle()); found {
		e.Show(w.Args(), w.Tag(), w.Migrates(), m.isExternal())
	}
	return e
}

// controlPlaneNodeLabel selects RKE's control-plane nodes.
const controlPlaneNodeLabel = "node-role.kubernetes.io/controlplane=true"

func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Target: m.Target, Workers: m.workers(), Selector: controlPlaneNodeLabel, Cluster: m.Name,
		Why:        "Part of the published procedure: no new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon, and the cordon blocks no pod of the cloud-controller-manager.",
		ReleaseWhy: "RKE uncordons every node at the end of its run, also those that an administrator cordoned on purpose; this stage uncordons the remaining nodes and removes the annotations.",
	}
}

// Name is the format's name.
const Name = "rke1"

// words are those of the documents of RKE.
var words = transform.Words{{"rancher_kubernetes_engine_config"}, {"rancherKubernetesEngineConfig"}, {nodesKey, controlPlaneRole}, {providerKey, versionKey}}

// Other programs have nodes and a cloud_provider as well; a cluster.yml that cannot be read was
// meant where nodes with RKE's own role, or a provider next to a version, start a line.
var (
	wrapperWord  = regexp.MustCompile(`rancher_kubernetes_engine_config|rancherKubernetesEngineConfig`)
	nodesKeyWord = keyWord("nodes")
	providerWord = keyWord("cloud_provider")
	versionWord  = keyWord("kubernetes_version")
	roleWord     = regexp.MustCompile(`\bcontrolplane\b`)
)

// keyWord finds a key of the root: at the start of a line, or quoted, as JSON has
// it anywhere.
func keyWord(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\x{feff}?(?:\{ *)?["']?` + key + `["']? *:|"` + key + `" *:`)
}

// plausible is for a text with these words that cannot be read.
func plausible(text []byte) bool {
	return wrapperWord.Match(text) || nodesKeyWord.Match(text) && roleWord.Match(text) || providerWord.Match(text) && versionWord.Match(text)
}

// IsCluster reports whether a document holds a cluster of RKE.
func IsCluster(doc *yamledit.Document) bool {
	config, _, wrapped := configOf(doc.Root())
	if wrapped {
		return config.IsMap()
	}
	if !config.IsMap() || config.Get("kind").Exists() || config.Get("apiVersion").Exists() {
		return false
	}
	if slices.ContainsFunc(config.Get(nodesKey).Items(), hasRole) {
		return true
	}
	provider := config.Get(providerKey)
	return config.Get(versionKey).Exists() && (provider.IsMap() || provider.IsNull())
}

// hasRole reports whether a node is a control plane as RKE writes it.
func hasRole(n yamledit.Node) bool {
	return slices.ContainsFunc(n.Get("role").Items(), func(role yamledit.Node) bool { return role.StringAt() == controlPlaneRole })
}

// engineKey holds RKE's configuration in an object of Rancher's API.
const engineKey = "rancherKubernetesEngineConfig"

// isObject reports whether a document is an object as Rancher's API has it: no file
// of people has RKE's configuration in that spelling.
func isObject(doc *yamledit.Document) bool {
	_, s, wrapped := configOf(doc.Root())
	return wrapped && s == camel
}

// kept returns an object with RKE's configuration as it is after Rancher's Go types
// (github.com/rancher/rke/types): Rancher's controllers write the whole object through
// them, and so does its webhook up to 0.4 (rancher/webhook
// pkg/resources/management.cattle.io/v3/cluster/mutator.go). They know no difference
// between null, absent and empty, except where a field is a pointer to a struct: an
// awsCloudProvider without settings is not none.
func kept(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	raw, isMap := spec[engineKey].(map[string]any)
	if !isMap {
		return object
	}
	c, err := decode(raw, camel)
	var typed any
	if err != nil || convert.ToObj(c, &typed) != nil {
		return object // Rancher refuses it
	}
	return withKey(object, "spec", withKey(spec, engineKey, typed))
}

// deliver reports how a cluster's file gets to work. RKE keeps the cluster's state,
// certificates included, in a file next to the cluster.yml and named like it: a
// copy elsewhere would be taken for a new cluster. So no command names a copy.
func deliver(doc *yamledit.Document, _ string) transform.Delivery {
	if isValues(doc) {
		return transform.Delivery{How: "the release of Helm, as in the\nnext step."}
	}
	if _, _, wrapped := configOf(doc.Root()); wrapped {
		d := transform.Delivery{How: "Rancher as\nusual: with the tool that manages the cluster, or with Edit as YAML of the cluster.", Rancher: true}
		if r := transform.ResourceOf(doc); r == "clusters.management.cattle.io" {
			d.Resource = r // other files hold the configuration as well, and no API server has those
		}
		return d
	}
	return transform.Delivery{How: "the cluster, as in the\nnext step, with its .rkestate file next to it."}
}

// fileOf is the file of a cluster; a stream has none, and gets RKE's usual
// name.
func fileOf(doc *yamledit.Document) string {
	if strings.HasPrefix(doc.File(), "<") {
		return "cluster.yml"
	}
	return doc.File()
}

// taken waits until the cluster has taken the document over.
func (m *migration) taken() action.Action {
	if m.Wrapped {
		return action.ClusterUpdated()
	}
	return action.RKEUp(fileOf(m.Doc))
}

// backup returns the EtcdBackup that asks for a snapshot of etcd of an RKE cluster,
// as Rancher's own button makes it (rancher pkg/controllers/management/etcdbackup,
// NewBackupObject). raw is the cluster's object as the server has it: a restore with
// the configuration takes it from status.clusterObject. EtcdBackups have no
// subresource status, so that the status comes with the object. It may hold secrets,
// as the cluster's object does.
func backup(raw []byte, id, uid, name string) ([]byte, error) {
	var o struct {
		Spec struct {
			Engine struct {
				Version  string `json:"kubernetesVersion"`
				Services struct {
					Etcd struct {
						Backup json.RawMessage `json:"backupConfig"`
					} `json:"etcd"`
				} `json:"services"`
			} `json:"rancherKubernetesEngineConfig"`
		} `json:"spec"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return nil, errors.New("the cluster's object has fields of unexpected types; check it with kubectl")
	}
	return json.Marshal(map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "EtcdBackup",
		"metadata": map[string]any{
			"name": name, "namespace": id,
			"ownerReferences": []any{map[string]any{"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "name": id, "uid": uid, "controller": true}},
		},
		"spec":   map[string]any{"clusterId": id, "manual": true, "backupConfig": o.Spec.Engine.Services.Etcd.Backup},
		"status": map[string]any{"conditions": nil, "kubernetesVersion": o.Spec.Engine.Version, "clusterObject": compressed(raw)},
	})
}

// compressed is JSON as an EtcdBackup keeps it: gzip in base64.
func compressed(raw []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(raw) // into memory, which does not fail
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// The conditions of an EtcdBackup: it is queued, and it is made.
const (
	created   = "Created"
	completed = "Completed"
)

// backupTaken reads an EtcdBackup: "" once the snapshot is there, else what it waits
// for. It fails when Rancher gave it up.
func backupTaken(raw []byte) (waiting string, err error) {
	var o struct {
		Status struct {
			Conditions []genericcondition.GenericCondition `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return "", errors.New("the EtcdBackup cannot be read; check it with kubectl")
	}
	waiting = "Rancher has not observed the EtcdBackup yet"
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type == completed && c.Status == "True":
			return "", nil
		case c.Type == completed && c.Status == "False":
			return "", fmt.Errorf("the snapshot of etcd failed%s; without --etcd-snapshot none is taken", quoted(c.Message))
		case c.Type == created && c.Status == "Unknown":
			waiting = "Rancher has queued the snapshot of etcd; another one may be running"
		case c.Type == created && c.Status == "True":
			waiting = "RKE takes the snapshot of etcd"
		}
	}
	return waiting, nil
}

// quoted adds what a condition says, which may quote anything.
func quoted(message string) string {
	if message == "" {
		return ""
	}
	return ": " + redact.Text(message)
}
