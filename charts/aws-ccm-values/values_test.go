// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// tested are the image tags: those that kOps tests with a minor up to 1.27, and the newest
// patch of each minor in 2026-07 from then on (kubernetes/cloud-provider-aws).
var tested = map[string]string{
	"v1.22": "v1.22.8", "v1.23": "v1.23.17", "v1.24": "v1.24.15", "v1.25": "v1.25.3", "v1.26": "v1.26.6", "v1.27": "v1.27.2",
	"v1.28": "v1.28.11", "v1.29": "v1.29.10", "v1.30": "v1.30.10", "v1.31": "v1.31.9", "v1.32": "v1.32.8",
	"v1.33": "v1.33.4", "v1.34": "v1.34.3", "v1.35": "v1.35.2", "v1.36": "v1.36.1",
}

// last are the last minors of the formats; RKE ends at 1.32 (rancher/rke, data at v1.8.14).
var last = map[string]string{"rke1": "v1.32", "rke2": "v1.36"}

func TestTheValuesOfAllMinorsDifferInTheImageAndTheFlagAlone(t *testing.T) {
	for format, end := range last {
		base, _ := ForMinor(format, "v1.26")
		count := 0
		for minor, tag := range tested {
			v, ok := ForMinor(format, minor)
			assert.Truef(t, ok == (minor <= end), "%s: values for %s: %t", format, minor, ok)
			if !ok {
				continue
			}
			count++
			want := strings.Replace(base, "tag: "+tested["v1.26"], "tag: "+tag, 1)
			if minor > "v1.27" {
				want = strings.Replace(want, "  - --enable-leader-migration=true\n", "", 1)
			}
			assert.Truef(t, v == want, "%s: %s differs in more:\n%s", format, minor, v)
			assert.Truef(t, strings.HasPrefix(tag, minor+"."), "%s has an image of another minor: %s", minor, tag)
		}
		got := Minors(format)
		assert.Truef(t, len(got) == count, "%s: values for %v", format, got)
	}
}

func TestRKE1SelectsItsOwnRoleAlone(t *testing.T) {
	v, _ := ForMinor("rke1", "v1.26")
	for _, want := range []string{"  node-role.kubernetes.io/control-plane: null\n", "  node-role.kubernetes.io/controlplane: \"true\"\n", "  - key: node-role.kubernetes.io/controlplane\n"} {
		assert.Truef(t, strings.Contains(v, want), "%q is missing in\n%s", want, v)
	}
}
