// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// tier is machines that Rancher changes before it continues with the next tier (rancher
// pkg/capr/planner/planner.go, fullReconcile): those with etcd, other control planes, workers.
func tier(c Class) int {
	switch {
	case c.Etcd():
		return 0
	case c.ControlPlane():
		return 1
	}
	return 2
}

// Restarts compares what machines get: Rancher restarts rke2 where its configuration
// changes, tier by tier. It takes the order of control planes among each other, and that of workers.
func (m *Machines) Restarts(after *Machines, controlPlanes, workers string) (list []transform.Restart) {
	orders := [...]string{"the init node first, then one at a time", controlPlanes, workers}
	later, processes := lists.By(after.Classes, func(c Class) string { return c.Name }), map[[2]int]string{}
	classes := slices.Clone(m.Classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(tier(a), tier(b)) })
	for _, class := range classes {
		now, there := later[class.Name]
		if !there {
			continue
		}
		kind := [2]int{class.Kind(), now.Kind()}
		process, known := processes[kind]
		if !known {
			process = m.restarted(class, after, now)
			processes[kind] = process
		}
		r := transform.Restart{Process: process, Classes: []string{class.Name}, Order: orders[tier(class)]}
		if n := len(list); n > 0 && list[n-1].Process == process && list[n-1].Order == r.Order {
			list[n-1].Classes = append(list[n-1].Classes, class.Name)
		} else if process != "" {
			list = append(list, r)
		}
	}
	return list
}

// restarted names the service of a class that restarts, and the components of Kubernetes
// in it whose arguments change; "" for none.
func (m *Machines) restarted(class Class, after *Machines, later Class) string {
	service, before, now := "rke2-agent", m.Effective(class), after.Effective(later)
	if class.Server() {
		service = "rke2-server"
	}
	if m.Release.Version != after.Release.Version {
		return service + " (all components: the release changes)"
	}
	differs := func(key string) bool { return !reflect.DeepEqual(before[key].Value, now[key].Value) }
	if reflect.DeepEqual(before.Values(), now.Values()) {
		return ""
	}
	components := lists.Where([]string{"kube-apiserver", "kube-controller-manager", "kubelet"}, func(c string) bool {
		return class.Runs(c+"-arg") && (differs(c+"-arg") || differs(ProviderKey))
	})
	if len(components) == 0 {
		return service
	}
	return service + " with " + strings.Join(components, ", ")
}
