// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
)

func TestControlPlanesAreCordonedWhereNothingHasToMove(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Policy
		want bool
	}{
		{"dedicated", Policy{}, true},
		{"with workloads", Policy{Workers: true}, false},
		{"upgraded", Policy{Upgrades: true}, false},
		{"always", Policy{Choice: transform.CordonAlways, Workers: true, Upgrades: true}, true},
		{"never", Policy{Choice: transform.CordonNever}, false},
		{"auto", Policy{Choice: transform.CordonAuto, Workers: true}, false},
	} {
		stage, release := c.p.Stage(), c.p.Release()
		if got := len(stage.After) > 0; got != c.want || got != (len(release.After) > 0) || got != (len(stage.UndoAfter) > 0) {
			t.Errorf("%s: %v, %v", c.name, stage.After, release.After)
		}
		if !c.want && !strings.HasPrefix(stage.Why, "Not needed here: ") {
			t.Errorf("%s: %s", c.name, stage.Why)
		}
	}
}

func TestARunIsOneWordForTheShell(t *testing.T) {
	for cluster, want := range map[string]string{"heron": "leader-migration-heron", "": "leader-migration", "a b; rm": "leader-migration-a-b-rm", "$(x)": "leader-migration-x"} {
		if got := (Policy{Cluster: cluster}).run(); got != want {
			t.Errorf("%q: %q", cluster, got)
		}
	}
}
