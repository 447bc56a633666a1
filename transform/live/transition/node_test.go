// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func parsed(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("object", text))(t)
}

func TestACordonIsUndone(t *testing.T) {
	for _, text := range []string{
		`{"metadata":{"name":"a","annotations":{"b":"c"}},"spec":{"providerID":"x"}}`,
		`{"metadata":{"name":"a"},"spec":{"providerID":"x"}}`,
		`{"metadata":{"name":"a","annotations":{"rke-lm.io/cordoned":"old"}},"spec":{"providerID":"x","unschedulable":false}}`,
	} {
		cordoned, err := Cordon(parsed(t, text), "run")
		assert.Mustf(t, err == nil && Marked(cordoned, "run") && (strings.Contains(string(cordoned.Bytes()), `"unschedulable":true`) || strings.Contains(string(cordoned.Bytes()), `"unschedulable": true`)), "%v %s", err, cordoned.Bytes())
		assert.Equal(t, assert.Value(Release(cordoned, "another"))(t), cordoned, "it is another run's")
		released, err := Release(cordoned, "run")
		assert.Truef(t, err == nil && !Marked(released, "run") && !strings.Contains(string(released.Bytes()), "unschedulable"), "%v %s", err, released.Bytes())
	}
}

func TestANodeThatIsCordonedStaysSomeoneElses(t *testing.T) {
	d := parsed(t, `{"metadata":{"name":"a"},"spec":{"unschedulable":true}}`)
	assert.Equal(t, assert.Value(Cordon(d, "run"))(t), d)
	assert.Equal(t, assert.Value(Release(d, "run"))(t), d)
}

func TestASnapshotIsTakenWhenItsOwnNumberIsFinished(t *testing.T) {
	for _, c := range []struct {
		number int64
		phase  string
		taken  bool
		failed bool
	}{{4, "Finished", false, false}, {5, "Started", false, false}, {5, "Finished", true, false}, {5, "Failed", false, true}} {
		taken, err := SnapshotTaken(rollout.Objects{ControlPlane: &rollout.ControlPlane{SnapshotGeneration: c.number, SnapshotPhase: c.phase}}, 5)
		assert.Truef(t, taken == c.taken && (err != nil) == c.failed, "%+v: %t %v", c, taken, err)
	}
}
