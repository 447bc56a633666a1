// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
)

// ConfigNotMounted is for a manager's configuration that is not where the manager
// looks for it. What puts files there is the distro's: it checks and describes it.
var ConfigNotMounted = transform.Rule{
	ID: "config-not-mounted", Severity: transform.Error, Guards: BothManagers, Acceptable: true,
}
