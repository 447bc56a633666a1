// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// A finished cluster whose pods are ready is not ok while no cloud-controller-manager leads, whatever the
// reason. verify says so without --stage, and for the last stage that edits.
func TestAFinishedClusterWithoutALeaderIsNotOK(t *testing.T) {
	s := mistake(t)
	right := at(s, planned(t, document(t, "rke2.yaml")), stages.DisableLeaderMigration)
	const last = stages.DisableLeaderMigration

	s.rollOut(withoutPods(right)) // no cloud-controller-manager was ever installed
	s.leads(cluster.KCM)
	s.faulted("", "ccm-removed")
	s.faulted(last, "ccm-removed", "daemonset-empty")

	s.rollOut(routed(right)) // one that ends whenever it gains its lease
	s.eventually("the manager's end", func(context.Context) bool { return s.agent.Restarts(cluster.CCM) > 0 })
	s.faulted("", "daemonset-restarting")
	s.faulted(last, "daemonset-restarting")

	s.rollOut(right)
	s.approved("")
	s.approved(last)

	s.rollOut(withoutLeases(s, right)) // ready, and not allowed to lock its own lease
	s.forget(cluster.CCM)
	s.faulted("", "lease-rbac-missing", "leader-missing")

	s.rollOut(right)
	s.approved("")
	thaw := s.freeze(cluster.CCM) // its container runs, and no one renews its lease
	s.faulted("", "leader-missing")
	thaw()
	s.approved("")
	s.end("leader-missing")
}

// routed has the cloud-controller-manager write routes without a range.
func routed(w agent.Wanted) agent.Wanted {
	chart := *w.CCM
	chart.Args = slices.DeleteFunc(slices.Clone(chart.Args), func(a string) bool { return a == "--configure-cloud-routes=false" })
	w.CCM = &chart
	return w
}

// withoutLeases is a chart whose role has no rule about leases.
func withoutLeases(s *scenario, w agent.Wanted) agent.Wanted {
	s.Helper()
	text := assert.Value(build.ChartValues(s.Context()))(s)
	var defaults struct {
		ClusterRoleRules []map[string]any `json:"clusterRoleRules"`
	}
	assert.NilError(s, yaml.Unmarshal(text, &defaults))
	var rules []any
	for _, rule := range defaults.ClusterRoleRules {
		if resources, _ := rule["resources"].([]any); !slices.Contains(resources, any("leases")) {
			rules = append(rules, rule)
		}
	}
	if len(rules) == len(defaults.ClusterRoleRules) {
		s.Fatal("the chart's role has no rule about leases")
	}
	chart := *w.CCM
	values := maps.Clone(chart.Values.(map[string]any))
	values["clusterRoleRules"] = rules
	chart.Values, w.CCM = values, &chart
	return w
}

// forget ends the managers of a component, which start again, and takes away the lease by which they led.
func (s *scenario) forget(component cluster.Component) {
	s.Helper()
	s.kill(component)
	assert.NilError(s, s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(s.Context(), string(component), metav1.DeleteOptions{}))
}

// freeze stops the managers of a component without ending them, until the function that it returns is called.
func (s *scenario) freeze(component cluster.Component) (thaw func()) {
	var frozen []*cluster.Manager
	for _, m := range s.cluster.Managers() {
		if m.Component == component && m.Alive() {
			m.Freeze()
			frozen = append(frozen, m)
		}
	}
	thaw = func() {
		for _, m := range frozen {
			m.Thaw()
		}
	}
	s.Cleanup(thaw) // a frozen manager does not end when it is asked to
	return thaw
}
