// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
)

// UnknownConfigKey is for a key that nothing reads, perhaps because it is misspelt.
// Which keys are read is the distro's, which checks and describes it.
var UnknownConfigKey = transform.Rule{ID: "unknown-config-key", Severity: transform.Warning, Guards: FlagEdits, Acceptable: true}
