// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAnUndoTakesNothingThatHasAComment(t *testing.T) {
	text := strings.Replace(static(onAWS, "--enable-leader-migration"), "--enable-leader-migration", "--enable-leader-migration # ours", 1)
	_, err := undone(t, text, stages.EnableLeaderMigration, transform.Target{})
	assert.ErrorContains(t, err, "it has a comment (line ")
	steps, err := undone(t, text, stages.EnableLeaderMigration, transform.Target{CanonicalForm: true})
	assert.True(t, err == nil && !strings.Contains(string(steps[0].After()[0].Bytes()), "enable-leader") && strings.Contains(string(steps[0].After()[0].Bytes()), "# ours\n"), err)
}
