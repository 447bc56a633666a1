// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// CloudConfigLost is for a provider's configuration, which an external provider
// ignores. A distro describes where its own has one.
var CloudConfigLost = transform.Rule{
	ID: "cloud-config-lost", Severity: transform.Error, Guards: TheSwitch, Acceptable: true,
}

// ConfigCarried is about a configuration that the stages carry: a note.
func ConfigCarried(n yamledit.Node, found *transform.Findings) {
	found.At(n, "an external provider will ignore this configuration; the stages carry it to the cloud-controller-manager",
		"nothing, as long as the stages are applied in their order").Severity = transform.Note
}

// ConfigLost is about one that they do not carry; why begins with a comma, or is "".
func ConfigLost(n yamledit.Node, why string, found *transform.Findings) {
	found.At(n, "an external provider ignores this configuration"+why,
		"carry its content to the cloud-controller-manager as --cloud-config, then --accept "+CloudConfigLost.ID)
}
