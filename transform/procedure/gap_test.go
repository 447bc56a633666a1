// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package procedure

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The gaps were measured with leader migration.
func TestTheShortWayPromisesNoGap(t *testing.T) {
	short := transform.Target{NoLeaderMigration: true}
	if strings.Contains(SwitchWhy(short), "gap") || !strings.Contains(SwitchWhy(transform.Target{}), "gap") || !strings.HasSuffix(SwitchWhy(short), ". ") || !strings.HasSuffix(SwitchWhy(transform.Target{}), ". ") {
		t.Errorf("%q", SwitchWhy(short))
	}
	for _, stage := range stages.Names() {
		if got := BackGap(short, stage); got != "" {
			t.Errorf("%s: %q", stage, got)
		}
	}
}
