// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAnUndoTakesNothingThatHasAComment(t *testing.T) {
	text := strings.Replace(static(onAWS, "--enable-leader-migration"), "--enable-leader-migration", "--enable-leader-migration # ours", 1)
	_, err := plan.Undo(Format(), transform.Only(parse(t, text)), transform.Target{}, stages.EnableLeaderMigration, false)
	fails(t, err, "it has a comment (line ")
	steps, err := plan.Undo(Format(), transform.Only(parse(t, text)), transform.Target{CanonicalForm: true}, stages.EnableLeaderMigration, false)
	assert.True(t, err == nil && !strings.Contains(string(steps[0].After()[0].Bytes()), "enable-leader") && strings.Contains(string(steps[0].After()[0].Bytes()), "# ours\n"), err)
}
