// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
)

// ProviderRemoved is for clusters that lost their provider. What shows that they had
// one is the distro's, which checks and describes it.
var ProviderRemoved = transform.Rule{ID: "provider-removed", Severity: transform.Error, Guards: TheSwitch}
