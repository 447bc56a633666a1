// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// machine has the roles that its letters say: e, c and w.
func machine(name, roles string) Machine {
	m := Machine{Name: name, Labels: map[string]string{}, Plan: &Plan{}}
	for letter, label := range map[string]string{"e": effective.LabelEtcd, "c": effective.LabelControlPlane, "w": effective.LabelWorker} {
		if strings.Contains(roles, letter) {
			m.Labels[label] = "true"
		}
	}
	m.Plan.Init = strings.Contains(roles, "i")
	return m
}

func order(strategy map[string]any, changes func(map[string]string) bool, machines ...Machine) string {
	seen := Objects{ControlPlane: &ControlPlane{Spec: map[string]any{"upgradeStrategy": strategy}}, Machines: machines}
	return OrderText(Order(seen, rke2.Format().Live.Roles, changes))
}

func TestMachinesChangeInTheOrderOfRanchersPlanner(t *testing.T) {
	all := func(map[string]string) bool { return true }
	controlPlanes := func(labels map[string]string) bool { return labels[effective.LabelControlPlane] == "true" }
	same := []Machine{machine("a", "ec"), machine("b", "eci"), machine("c", "ec")}
	apart := []Machine{machine("c-1", "c"), machine("c-2", "c"), machine("c-3", "c"), machine("e-1", "ei"), machine("e-2", "e"), machine("w-1", "w"), machine("w-2", "w")}
	removed := machine("a", "ec")
	removed.Deleting = true
	noded := machine("b", "eci")
	noded.Node = "ip-10-0-1-20"
	for name, c := range map[string]struct{ got, want string }{
		"the init node first":                      {order(nil, all, same...), "b; then a, c, one at a time."},
		"etcd before control planes, workers last": {order(nil, all, apart...), "e-1; then e-2; then c-1, c-2, c-3, one at a time; then w-1, w-2, one at a time."},
		"those alone that change":                  {order(nil, controlPlanes, apart...), "c-1, c-2, c-3, one at a time."},
		"several at a time":                        {order(map[string]any{"controlPlaneConcurrency": "2", "workerConcurrency": "0"}, all, apart...), "e-1; then e-2; then c-1, c-2, c-3, 2 at a time; then w-1, w-2, 2 at a time."},
		"a part of all":                            {order(map[string]any{"controlPlaneConcurrency": "50%"}, controlPlanes, apart...), "c-1, c-2, c-3, 2 at a time."},
		"more at a time than there are":            {order(map[string]any{"controlPlaneConcurrency": "10"}, controlPlanes, apart...), "c-1, c-2, c-3, 3 at a time."},
		"etcd one by one, whatever the strategy":   {order(map[string]any{"controlPlaneConcurrency": "3"}, all, same...), "b; then a, c, one at a time."},
		"machines that go away":                    {order(nil, all, removed, machine("b", "eci")), "b."},
		"with the name of the node":                {order(nil, all, noded), "b (ip-10-0-1-20)."},
	} {
		assert.Equal(t, c.got, "Rancher updates the machines in this order: "+c.want, name)
	}
	removed.Plan.Init = true
	for name, got := range map[string]string{
		"no init node":             order(nil, all, machine("a", "ec"), machine("b", "w")),
		"an init node that goes":   order(nil, all, removed, machine("b", "ec")),
		"plans that were not read": order(nil, all, Machine{Name: "a", Labels: map[string]string{effective.LabelEtcd: "true"}}),
		"nothing changes":          order(nil, func(map[string]string) bool { return false }, same...),
		"a cluster that RKE makes": OrderText(Order(Objects{Engine: &Engine{}}, rke2.Format().Live.Roles, all)),
	} {
		assert.Equal(t, got, "", name)
	}
	var many []Machine
	for range 12 {
		many = append(many, machine("w", "w"))
	}
	assert.Contains(t, order(nil, all, append(many, machine("z", "eci"))...), "and 3 more, one at a time")
}
