// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// tier is machines that Rancher changes before it continues with the next tier (rancher
// pkg/capr/planner/planner.go, fullReconcile).
type tier int

const (
	etcdTier tier = iota
	controlPlaneTier
	workerTier
)

func tierOf(c Class) tier {
	switch {
	case c.Etcd():
		return etcdTier
	case c.ControlPlane():
		return controlPlaneTier
	}
	return workerTier
}

// Restarts compares what machines get: Rancher restarts rke2 where its configuration
// changes, tier by tier. A change of additionalManifest restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	a, is := after.(*migration)
	if !is {
		return nil
	}
	reaches, processes := map[string]*reach{}, map[[2]*reach]string{}
	for _, class := range a.Classes {
		reaches[class.Name] = class.reach
	}
	var list []transform.Restart
	for _, class := range m.byTier() {
		kind := [2]*reach{class.reach, reaches[class.Name]}
		if _, known := processes[kind]; !known && kind[1] != nil {
			processes[kind] = m.restarted(class, a, m.Effective(class), a.configs[kind[1]])
		}
		process := processes[kind]
		if process == "" {
			continue
		}
		r := transform.Restart{Process: process, Classes: []string{class.Name}, Order: m.orderOf(tierOf(class))}
		if n := len(list); n > 0 && list[n-1].Process == r.Process && list[n-1].Order == r.Order {
			list[n-1].Classes = append(list[n-1].Classes, class.Name)
			continue
		}
		list = append(list, r)
	}
	return list
}

// byTier returns the classes in the order in which Rancher changes their machines.
func (m *migration) byTier() []Class {
	classes := slices.Clone(m.Classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(tierOf(a), tierOf(b)) })
	return classes
}

// restarted names the service of a class that restarts, and the components of Kubernetes
// in it whose arguments change; "" for none.
func (m *migration) restarted(class Class, after *migration, before, now Config) string {
	service := "rke2-agent"
	if class.Server() {
		service = "rke2-server"
	}
	if m.Version != after.Version {
		return service + " (all components: the release changes)"
	}
	differs := func(key string) bool { return !reflect.DeepEqual(before[key].Value, now[key].Value) }
	if reflect.DeepEqual(before.Values(), now.Values()) {
		return ""
	}
	var components []string
	for _, c := range []struct {
		name, key string
		runs      bool
	}{
		{"kube-apiserver", "kube-apiserver-arg", class.ControlPlane()},
		{"kube-controller-manager", managerArgs, class.ControlPlane()},
		{"kubelet", kubeletArgs, true},
	} {
		if c.runs && (differs(c.key) || differs(providerKey)) {
			components = append(components, c.name)
		}
	}
	if len(components) == 0 {
		return service
	}
	return service + " with " + strings.Join(components, ", ")
}

// orderOf is the order of the machines of a tier.
func (m *migration) orderOf(t tier) string {
	switch t {
	case etcdTier:
		return "the init node first, then one at a time"
	case controlPlaneTier:
		return m.atOnce("controlPlaneConcurrency")
	}
	return m.atOnce("workerConcurrency")
}

// atOnce reads how many machines of a tier Rancher takes at a time.
func (m *migration) atOnce(key string) string {
	switch text := fmt.Sprint(m.RKEConfig().Get("upgradeStrategy", key).Value()); text {
	case "0":
		return "all at once"
	case "1", "", "<nil>":
		return "one at a time"
	default:
		return text + " at a time"
	}
}

// controlPlanesAtOnce counts as Rancher's planner does (rancher pkg/capr/planner,
// fullReconcile and calculateConcurrency): machines with etcd follow one by one, then
// the other control planes by controlPlaneConcurrency, of which 0 means all.
func (m *migration) controlPlanesAtOnce(found *transform.Findings) {
	at := m.RKEConfig().Get("upgradeStrategy", "controlPlaneConcurrency")
	all, alone := m.controlPlanes()
	number, ok := rules.Concurrency(at.Value(), all, math.Ceil)
	most := min(number, alone)
	if number == 0 {
		most = alone
	}
	if at.Exists() && ok {
		rules.AtOnce(at, rules.Restart{By: "Rancher", Most: most, All: alone, Of: "control planes without etcd", Key: "upgradeStrategy.controlPlaneConcurrency"}, found)
	}
}

// controlPlanes counts the control planes, and those of them without etcd. A cluster
// without pools does not show it.
func (m *migration) controlPlanes() (all, alone int) {
	for _, c := range m.Classes {
		if !c.ControlPlane() {
			continue
		}
		if !c.Pool.Exists() {
			return rules.MostControlPlanes, rules.MostControlPlanes
		}
		n := 1 // of a pool that does not say
		if q, err := strconv.Atoi(fmt.Sprint(c.Pool.Get("quantity").Value())); err == nil {
			n = q
		}
		all += n
		if !c.Etcd() {
			alone += n
		}
	}
	return all, alone
}
