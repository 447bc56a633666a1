// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import "github.com/rke-lm/rke-lm/transform/k8s"

// move is the way to the target version.
func (m *migration) move() k8s.Upgrade {
	return k8s.Upgrade{
		From: m.Version, To: m.target.Version,
		At: m.Root.Get("spec", "kubernetesVersion"), Holder: m.Root.Get("spec"),
		Distro: "an RKE2", Example: "v1.27.16+rke2r1", Is: isRelease,
	}
}
