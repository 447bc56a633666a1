// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// machineConfigs is what a cluster configures its machines with, worked out a
// second time and from values alone, so that a mistake in rke2's own reckoning
// shows.
type machineConfigs struct {
	MachineGlobalConfig   map[string]any
	MachineSelectorConfig []selectorEntry
	MachinePools          []machinePool
}

type selectorEntry struct {
	Config               map[string]any
	MachineLabelSelector *metav1.LabelSelector
}

type machinePool struct {
	Name                                   string
	ControlPlaneRole, EtcdRole, WorkerRole bool
	Labels                                 map[string]string
}

func machineConfigsOf(cluster any) (machineConfigs, error) {
	text, err := json.Marshal(cluster)
	if err != nil {
		return machineConfigs{}, err
	}
	var read struct {
		Spec struct{ RKEConfig machineConfigs }
	}
	err = json.Unmarshal(text, &read)
	return read.Spec.RKEConfig, err
}

// machines returns the labels of the pools' machines, or of machines with all
// combinations of roles where there is no pool.
func (c machineConfigs) machines() []labels.Set {
	pools := c.MachinePools
	if len(pools) == 0 {
		for roles := 1; roles < 8; roles++ {
			pools = append(pools, machinePool{ControlPlaneRole: roles&1 != 0, EtcdRole: roles&2 != 0, WorkerRole: roles&4 != 0})
		}
	}
	return lists.Map(pools, machinePool.labels)
}

func (p machinePool) labels() labels.Set {
	set := labels.Set{"cattle.io/os": "linux", "rke.cattle.io/rke-machine-pool-name": p.Name}
	for role, has := range map[string]bool{"control-plane": p.ControlPlaneRole, "etcd": p.EtcdRole, "worker": p.WorkerRole} {
		if has {
			set["rke.cattle.io/"+role+"-role"] = "true"
		}
	}
	maps.Copy(set, p.Labels)
	return set
}

// of lays the matching configurations over each other; the last one wins.
func (c machineConfigs) of(machine labels.Set) (map[string]any, error) {
	merged := maps.Clone(c.MachineGlobalConfig)
	if merged == nil {
		merged = map[string]any{}
	}
	for _, entry := range c.MachineSelectorConfig {
		matches, err := entry.matches(machine)
		if err != nil {
			return nil, err
		}
		if matches {
			maps.Copy(merged, entry.Config)
		}
	}
	return merged, nil
}

// matches reads an absent selector as Rancher does: it matches all machines.
func (e selectorEntry) matches(machine labels.Set) (bool, error) {
	if e.MachineLabelSelector == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(e.MachineLabelSelector)
	return err == nil && selector.Matches(machine), err
}

// eachMachine compares what every machine gets in two clusters.
func eachMachine(before, after any, check func(machine labels.Set, before, after map[string]any) error) error {
	b, err := machineConfigsOf(before)
	a, failed := machineConfigsOf(after)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	for _, machine := range b.machines() {
		had, err := b.of(machine)
		has, failed := a.of(machine)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if err := check(machine, had, has); err != nil {
			return fmt.Errorf("machines %s: %w", machine, err)
		}
	}
	return nil
}
