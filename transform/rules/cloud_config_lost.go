// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CloudConfigLost is for a provider's configuration, which an external provider
// ignores. A distro describes where its own has one.
var CloudConfigLost = cloudConfigLost{transform.Rule{
	ID: "cloud-config-lost", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
}}

type cloudConfigLost struct{ transform.Rule }

// Carried is about a configuration that the stages carry: a note.
func (cloudConfigLost) Carried(n yamledit.Node) []transform.Finding {
	return as(transform.Note, one(n, "an external provider will ignore this configuration; the stages carry it to the cloud-controller-manager",
		"nothing, as long as the stages are applied in their order"))
}

// Lost is about one that they do not carry; why begins with a comma, or is "".
func (r cloudConfigLost) Lost(n yamledit.Node, why string) []transform.Finding {
	return one(n, "an external provider ignores this configuration"+why,
		"carry its content to the cloud-controller-manager as --cloud-config, then --accept "+r.ID)
}
