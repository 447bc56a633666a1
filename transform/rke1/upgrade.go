// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// move is the upgrade to the target version.
func (m *migration) move() k8s.Upgrade {
	return k8s.Upgrade{
		From: m.Version, To: m.Target.Version,
		At: m.get(versionKey), Holder: m.Config,
		Format: "an RKE", Example: "v1.27.16-rancher1-1", Is: isRelease,
	}
}

// migrated reports whether no edit of a stage is left to do on the release of now.
func (m *migration) migrated() bool {
	now := *m
	now.Target.Version = ""
	return m.isExternal() && plan.Complete(&now)
}

// upgradeKubernetes moves the release.
func (m *migration) upgradeKubernetes() transform.Stage {
	return m.Upgrade(transform.Stage{
		Why:     "RKE upgrades one control plane after another, then the workers.",
		Prepare: m.credentials(),
		Change:  transform.ChangeOf(m.Doc, m.Target, m.upgradeEdit, m.checkUpgrade, nil),
		After:   []action.Action{m.taken()},
	})
}

// upgradeEdit refuses a file whose own image of Kubernetes counts before the version.
func (m *migration) upgradeEdit(e *yamledit.Edit) {
	if m.move().Planned() && m.imageTag() != "" {
		e.Fail(m.get(imagesKey, kubernetesKey).Errorf("a custom image keeps its release, regardless of "+m.spelling.of(versionKey), "remove it, or remove --target-version"))
	}
	m.move().Queue(e)
}

// checkUpgrade requires that the release changes, and nothing else.
func (m *migration) checkUpgrade(after *migration) error {
	moved := func(path string, _, now any) bool { return path == "kubernetesVersion" && now == m.move().To }
	return cmp.Or(transform.Require(after.Version == m.move().Reached(), "the release would not be %s", m.move().Reached()), m.check(after, moved))
}

// upgradeCCM moves the chart, which no file of RKE holds, to values of the cluster's minor.
func (m *migration) upgradeCCM() transform.Stage {
	if m.file != nil {
		return m.upgradeByValues()
	}
	if m.runsManager() {
		return m.UpgradeNotInFile(ccm.DefaultTag(Name, semver.MajorMinor(m.move().Reached())), transform.Stage{})
	}
	return m.UpgradedCCM(transform.Stage{
		Why:   "RKE has no charts in its file." + m.copyWhy(),
		After: append(m.helmOver(m.upgradeValues(), "upgrade the chart to the values of the minor; plan --out writes them"), stages.Rollout("wait for the new pods")),
		Files: m.upgradeFiles,
	})
}

// upgradeValues names the file with the values of a minor.
func (m *migration) upgradeValues() string {
	return aws.Values + "-" + semver.MajorMinor(m.move().Reached()) + ".yaml"
}

func (m *migration) upgradeFiles() ([]action.File, error) {
	files, err := m.finalFiles()
	for i := range files {
		files[i].Name = m.upgradeValues()
	}
	return files, err
}

// newest are the newest releases of RKE by their minors (rancher/rke, data/data.json at v1.8.14,
// K8sVersionRKESystemImages).
var newest = map[string]string{
	"v1.22": "v1.22.17-rancher1-2", "v1.23": "v1.23.16-rancher2-3", "v1.24": "v1.24.17-rancher1-1",
	"v1.25": "v1.25.16-rancher2-3", "v1.26": "v1.26.15-rancher1-1", "v1.27": "v1.27.16-rancher1-1",
	"v1.28": "v1.28.15-rancher1-1", "v1.29": "v1.29.15-rancher1-1", "v1.30": "v1.30.14-rancher1-1",
	"v1.31": "v1.31.14-rancher1-1", "v1.32": "v1.32.13-rancher1-3",
}

// newestOf returns the newest release of a minor, or "".
func newestOf(minor string) string { return newest[semver.MajorMinor(minor)] }

// Restarts compares the configuration of the components: rke up replaces the containers
// whose arguments change, on the control planes first and then on the workers. An addon
// restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	a := after.(*migration)
	differs := func(keys ...string) bool {
		return !reflect.DeepEqual(m.get(keys...).Value(), a.get(keys...).Value())
	}
	everywhere := differs(providerKey) || m.Version != a.Version
	servers := lists.Found(gateServices, func(s [2]string) (string, bool) {
		return s[1], slices.Contains(components, s[0]) && (everywhere || differs(servicesKey, s[0]))
	})
	list := lists.If(len(servers) > 0, transform.Restart{Process: strings.Join(servers, ", "), Classes: []string{"control planes"}, Order: m.atOnce(unavailableKey, "1")})
	if slices.Contains(servers, kubelet) { // it alone runs on other nodes as well
		list = append(list, transform.Restart{Process: kubelet, Classes: []string{"other nodes"}, Order: m.atOnce("max_unavailable_worker", "10%")})
	}
	return list
}

// atOnce reads how many nodes RKE takes at a time.
func (m *migration) atOnce(key, otherwise string) string {
	text := otherwise
	if v := m.get(strategyKey, key).Value(); v != nil {
		text = fmt.Sprint(v)
	}
	if text == "1" {
		return "one at a time"
	}
	return text + " at a time"
}

// controlPlaneNodes returns what the scheduler sees of the control planes that the
// file lists; none where Rancher makes them from pools of its own.
func (c *Cluster) controlPlaneNodes() []ccm.NodeClass {
	return lists.Map(lists.Where(c.Read.Nodes, isControlPlane), nodeClass)
}

func isControlPlane(n node) bool { return slices.Contains(n.Role, controlPlaneRole) }

// nodeClass returns RKE's labels and taints for a node's roles, and the node's own
// (rancher/rke, services/workerplane.go).
func nodeClass(n node) ccm.NodeClass {
	const role = "node-role.kubernetes.io/"
	class := ccm.NodeClass{Name: strings.Join(n.Role, ", "), Labels: map[string]string{"kubernetes.io/os": "linux"}, Taints: []corev1.Taint{ccm.Uninitialized}}
	for _, r := range n.Role {
		class.Labels[role+r] = "true"
	}
	maps.Copy(class.Labels, n.Labels)
	taint := func(r string, effect corev1.TaintEffect) {
		if slices.Contains(n.Role, r) && !slices.Contains(n.Role, "worker") {
			class.Taints = append(class.Taints, corev1.Taint{Key: role + r, Value: "true", Effect: effect})
		}
	}
	taint("etcd", corev1.TaintEffectNoExecute)
	taint("controlplane", corev1.TaintEffectNoSchedule)
	for _, t := range n.Taints {
		class.Taints = append(class.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return class
}

// The upgrade strategy, as a cluster.yml spells it.
const (
	strategyKey    = "upgrade_strategy"
	unavailableKey = "max_unavailable_controlplane"
)

// restart counts as RKE does (services/node_util.go, CalculateMaxUnavailable): a
// percentage is rounded down, and is one machine at the least. Control planes with
// etcd count as well.
func (m *migration) restart() rules.Restart {
	at := m.get(strategyKey, unavailableKey)
	all := len(m.controlPlaneNodes())
	if all == 0 { // an object of Rancher names none
		all = rules.MostControlPlanes
	}
	number, ok := rules.Concurrency(at.Value(), all, math.Floor)
	if !ok {
		return rules.Restart{}
	}
	key := m.spelling.of(strategyKey) + "." + m.spelling.of(unavailableKey)
	return rules.Restart{At: at, By: "RKE", Most: min(number, all), All: all, Of: "control planes", Key: key}
}
