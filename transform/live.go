// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import "github.com/rke-lm/rke-lm/transform/yamledit"

// Live is what tells the live clusters of a distro from those of others.
type Live struct {
	// Machines reads what the machines of a cluster are given, migratable or not, off
	// the cluster's object; see NoMachines.
	Machines func(*yamledit.Document, Target) (MachineConfig, error)
	// Roles are those of a machine with some labels; see NoRoles.
	Roles func(labels map[string]string) Roles
}

// Roles are what a machine runs beside the kubelet.
type Roles struct{ ControlPlane, Etcd, Worker bool }

// NoRoles is the Roles of a distro whose machines no API server shows.
func NoRoles(map[string]string) Roles { return Roles{} }

// MachineConfig returns the configuration that a machine with some labels is given, by
// key: strings, booleans and lists, as decoded JSON.
type MachineConfig func(labels map[string]string) map[string]any

// NoMachines is the Machines of a distro that gives machines nothing by their labels.
func NoMachines(*yamledit.Document, Target) (MachineConfig, error) {
	return func(map[string]string) map[string]any { return nil }, nil
}
