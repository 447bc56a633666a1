// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"regexp"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// manifestOf is the chart, which is there by then.
var manifestOf = regexp.MustCompile(`(?m)^additionalManifest:.*\n(?:  .*\n)*`)

func TestTheOverrideOfAllComponentsNeedsOneGlobalConfiguration(t *testing.T) {
	const entries = "machineSelectorConfig:\n- config:\n    cloud-provider-name: aws\n"
	const off = entries + "    disable-cloud-controller: true\n"
	const lists = "machineGlobalConfig:\n  kubelet-arg:\n  - cloud-provider=external\n  kube-apiserver-arg:\n  - cloud-provider=external\n" +
		"  kube-controller-manager-arg:\n  - cloud-provider=external\n"
	for name, c := range map[string]struct{ before, want string }{
		"absent": {entries, off + lists},
		"null":   {"machineGlobalConfig:\n" + entries, lists + off},
		"empty":  {"machineGlobalConfig: {}\n" + entries, lists + off},
	} {
		t.Run(name, func(t *testing.T) {
			target := transform.Target{EndState: transform.EndStateOverride, NoLeaderMigration: true}
			got := configOf(step(t, planned(t, release, c.before, target), stages.SwitchToExternal).Documents[0].After)
			assert.DeepEqual(t, manifestOf.ReplaceAllString(got, ""), c.want)
		})
	}
}
