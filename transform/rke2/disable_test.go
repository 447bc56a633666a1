// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestATagOfOnesOwnServesTheMinorThatItNames(t *testing.T) {
	for tag, want := range map[string]string{"v1.26.9": "v1.27.2", "v1.27.9": "v1.27.9", "nightly": "nightly", "": "v1.27.2"} {
		target := transform.Target{EndState: "external", Version: "v1.27.16+rke2r1", ImageTag: tag}
		doc := step(t, planned(t, release, determined, target), stages.DisableLeaderMigration).Documents[0].After
		assert.Contains(t, string(doc.Bytes()), "tag: "+want+"\n", tag, want)
	}
}
