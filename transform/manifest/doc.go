// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest plans the leader migration of controller managers that run
// from manifests of their own: static pods of kubeadm, Deployments, DaemonSets,
// the ClusterConfiguration from which kubeadm writes static pods, and the
// InitConfiguration and JoinConfiguration with the kubelet's arguments.
//
// Invariant: one document is one component, and what an edit means is decided by
// its arguments as the manager reads them, by the last occurrence of a flag and
// however it is written. A stage that concerns another document says where it
// happens and edits nothing. What comes next to a manifest never lands in the
// folder of the manifest, because the kubelet starts every file in there.
package manifest
