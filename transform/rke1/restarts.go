// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// Restarts compares the configuration of the components: rke up replaces the containers
// whose arguments change, on the control planes first and then on the workers. An addon
// restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	a, is := after.(*migration)
	if !is {
		return nil
	}
	differs := func(keys ...string) bool {
		return !reflect.DeepEqual(m.get(keys...).Value(), a.get(keys...).Value())
	}
	everywhere := differs(providerKey) || m.Version != a.Version
	var servers []string
	for _, s := range gateServices {
		if slices.Contains(components, s[0]) && (everywhere || differs(servicesKey, s[0])) {
			servers = append(servers, s[1])
		}
	}
	var list []transform.Restart
	if len(servers) > 0 {
		list = append(list, transform.Restart{Process: strings.Join(servers, ", "), Classes: []string{"control planes"}, Order: m.atOnce(unavailableKey, "1")})
	}
	if slices.Contains(servers, kubelet) { // which alone runs on other nodes as well
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

// controlPlanesAtOnce counts as RKE does (services/node_util.go, CalculateMaxUnavailable): a
// percentage is rounded down, and is one machine at the least. Control planes with
// etcd count as well.
func (m *migration) controlPlanesAtOnce(found *transform.Findings) {
	at := m.get(strategyKey, unavailableKey)
	all := len(m.controlPlaneNodes())
	if all == 0 { // an object of Rancher names none
		all = rules.MostControlPlanes
	}
	number, ok := rules.Concurrency(at.Value(), all, math.Floor)
	if at.Exists() && ok {
		key := m.spelling.of(strategyKey) + "." + m.spelling.of(unavailableKey)
		rules.AtOnce(at, rules.Restart{By: "RKE", Most: min(number, all), All: all, Of: "control planes", Key: key}, found)
	}
}
