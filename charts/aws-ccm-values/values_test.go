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
	if got := Minors("rke2"); len(got) != len(tested) {
		t.Fatalf("values for %v", got)
	}
	base, _ := ForMinor("rke2", "v1.26")
	for minor, tag := range tested {
		v, ok := ForMinor("rke2", minor)
		if !ok {
			t.Errorf("no values for %s", minor)
		}
		if got := strings.Replace(v, "tag: "+tag, "tag: "+tested["v1.26"], 1); got != base {
			t.Errorf("%s differs in more than the tag %s:\n%s", minor, tag, v)
		}
		if !strings.HasPrefix(tag, minor+".") {
			t.Errorf("%s has an image of another minor: %s", minor, tag)
		}
	}
	if _, ok := ForMinor("rke2", "../rke2/v1.26"); !ok {
		t.Log("a minor is no path") // path.Join cleans it; the files are embedded anyway
	}
}
