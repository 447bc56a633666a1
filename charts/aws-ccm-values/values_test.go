// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"
)

// tested are the image tags that kOps tests with each cluster minor.
var tested = map[string]string{"v1.22": "v1.22.8", "v1.23": "v1.23.17", "v1.24": "v1.24.15", "v1.25": "v1.25.3", "v1.26": "v1.26.6", "v1.27": "v1.27.2"}

func TestTheValuesOfAllMinorsDifferInTheImageAlone(t *testing.T) {
	for _, distro := range []string{"rke1", "rke2"} {
		if got := Minors(distro); len(got) != len(tested) {
			t.Fatalf("%s: values for %v", distro, got)
		}
		base, _ := ForMinor(distro, "v1.26")
		for minor, tag := range tested {
			v, ok := ForMinor(distro, minor)
			if !ok {
				t.Errorf("%s: no values for %s", distro, minor)
			}
			if got := strings.Replace(v, "tag: "+tag, "tag: "+tested["v1.26"], 1); got != base {
				t.Errorf("%s: %s differs in more than the tag %s:\n%s", distro, minor, tag, v)
			}
			if !strings.HasPrefix(tag, minor+".") {
				t.Errorf("%s has an image of another minor: %s", minor, tag)
			}
		}
	}
}

func TestRKE1SelectsItsOwnRoleAlone(t *testing.T) {
	v, _ := ForMinor("rke1", "v1.26")
	for _, want := range []string{"  node-role.kubernetes.io/control-plane: null\n", "  node-role.kubernetes.io/controlplane: \"true\"\n", "  - key: node-role.kubernetes.io/controlplane\n"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing in\n%s", want, v)
		}
	}
}
