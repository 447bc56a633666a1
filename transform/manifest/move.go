// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// move is the upgrade to the target version. A release of a distribution counts as
// the release of Kubernetes that it is made from.
func (m *migration) move() k8s.Upgrade {
	to := cmp.Or(releaseOf(m.target.Version), m.target.Version)
	return k8s.Upgrade{From: m.Version, To: to, Distro: "a Kubernetes", Example: "v1.27.16", Is: isRelease}
}

// moveTo writes a release where the manifest states its own: into the tag of the
// image, whose registry stays, or as the version of a ClusterConfiguration.
func (m *migration) moveTo(e *yamledit.Edit, move k8s.Upgrade, tag string) error {
	at, stated := m.versionAt()
	if tag == stated {
		return nil
	}
	if m.Kind == kindConfiguration {
		move.At, move.Holder = at, m.Root
		return move.Queue(e)
	}
	i := imageOf(at.StringAt())
	if i.digest != "" || releaseOf(stated) != stated {
		return at.Errorf("the image has a digest, or a tag with more than the release, so the release cannot be changed", "remove --target-version, and change the image manually")
	}
	if err := move.Check(at); err != nil {
		return err
	}
	e.Set(at, i.withTag(tag))
	return nil
}
