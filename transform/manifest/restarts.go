// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Restarts is that of the one manifest.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	a, is := after.(*migration)
	if !is || bytes.Equal(m.Root.Document().Bytes(), a.Root.Document().Bytes()) {
		return nil
	}
	r := transform.Restart{Process: m.Component, Classes: []string{"control planes"}}
	if m.Component != kubeManager && m.Component != cloudManager {
		r.Classes = []string{"nodes"}
	}
	switch m.Kind {
	case kindPod:
		r.Order = "when its file is replaced: one control plane after another"
	case kindDeployment, kindDaemonSet:
		r.Order = "as the " + m.Kind + " rolls out"
	default:
		r.Order = "when kubeadm or its file applies the arguments: one node after another"
	}
	return []transform.Restart{r}
}

// Restarts is that of every manifest of the cluster.
func (c *cluster) Restarts(after transform.Cluster) []transform.Restart {
	a, is := after.(*cluster)
	if !is || len(a.members) != len(c.members) {
		return nil
	}
	var list []transform.Restart
	for i, m := range c.members {
		list = append(list, m.Restarts(a.members[i])...)
	}
	return list
}

// situation reports what the manifests of a cluster leave of a migration. From 1.27 on a
// manager and a kubelet exit with the provider aws. A manifest alone does not show whether
// what is external takes part in a migration that began before.
func situation(members []*migration) transform.Situation {
	if slices.ContainsFunc(members, (*migration).stops) {
		return transform.Broken
	}
	return transform.InTree
}

// stops reports whether what the manifest is for does not start with its provider. The
// cloud-controller-manager does.
func (m *migration) stops() bool { return m.inTree() && k8s.From(m.Version, aws.FirstWithout) }

func (m *migration) inTree() bool {
	name, _ := m.provider()
	return m.Component != cloudManager && name == inTree
}
