// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestControlPlanesAreCordonedWhereNothingHasToMove(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Cordoning
		want bool
	}{
		{"dedicated", Cordoning{}, true},
		{"with workloads", Cordoning{Workers: true}, false},
		{"upgraded", Cordoning{Target: transform.Target{Version: "v1.27.16"}}, false},
		{"always", Cordoning{Target: transform.Target{Cordon: transform.CordonAlways, Version: "v1.27.16"}, Workers: true}, true},
		{"never", Cordoning{Target: transform.Target{Cordon: transform.CordonNever}}, false},
		{"auto", Cordoning{Target: transform.Target{Cordon: transform.CordonAuto}, Workers: true}, false},
	} {
		stage, release := c.p.Stage(), c.p.Release()
		got := len(stage.After) > 0
		assert.Truef(t, got == c.want && got == (len(release.After) > 0) && got == (len(stage.UndoAfter) > 0), "%s: %v, %v", c.name, stage.After, release.After)
		assert.Truef(t, c.want || strings.HasPrefix(stage.Why, "Not needed: "), "%s: %s", c.name, stage.Why)
	}
}

func TestARunIsOneWordForTheShell(t *testing.T) {
	for cluster, want := range map[string]string{"heron": "leader-migration-heron", "": "leader-migration", "a b; rm": "leader-migration-a-b-rm", "$(x)": "leader-migration-x"} {
		assert.Equal(t, Mark(cluster), want, cluster)
	}
}
