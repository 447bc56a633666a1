// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestGatesAreStaleByRelease(t *testing.T) {
	volumes, migration := CSIGateStale, FlagOnExternalGate
	for _, c := range []struct {
		name, version, gate string
		rule                Rule
		stale               bool
	}{
		{"volumes, off at 1.24", "v1.24.1", "CSIMigrationAWS=false", volumes, false},
		{"volumes, off at 1.25", "v1.25.1", "CSIMigrationAWS=False", volumes, true},
		{"volumes, on at 1.24", "v1.24.1", "CSIMigrationAWS=true", volumes, false},
		{"volumes, on at 1.26", "v1.26.1", "CSIMigrationAWS=true", volumes, false},
		{"volumes, named at 1.27", "v1.27.1", "CSIMigrationAWS=true", volumes, true},
		{"migration, off at 1.22", "v1.22.1", "ControllerManagerLeaderMigration=0", migration, true},
		{"migration, on at 1.26", "v1.26.1", "ControllerManagerLeaderMigration=true", migration, false},
		{"migration, named at 1.27", "v1.27.1", "ControllerManagerLeaderMigration=true", migration, true},
	} {
		list := []args.Arg{args.Parse("feature-gates=Other=true," + c.gate)}
		found := checked(c.rule, Component{Args: list, Version: c.version, Stage: stages.SwitchToExternal})
		lint := checked(c.rule, Component{Args: list, Version: c.version}) // a value that only ends later is a note there
		assert.Truef(t, c.stale || strings.Contains(c.name, "off at 1.24") || len(lint) == 0, "%s: %+v", c.name, lint)
		assert.Truef(t, len(found) > 0 == c.stale && (!c.stale || found[0].Message != "" && found[0].Fix != ""), "%s: %+v", c.name, found)
	}
}

func TestAGateThatALaterReleaseStopsAtIsANoteAndStopsNoStage(t *testing.T) {
	list := []args.Arg{args.Parse("feature-gates=CSIMigrationAWS=false")}
	for version, notes := range map[string]int{"v1.22.1": 0, "v1.23.17": 1, "v1.24.1": 1} { // at 1.22 it is off by default
		found := checked(CSIGateStale, Component{Args: list, Version: version})
		assert.Truef(t, len(found) == notes && (notes == 0 || found[0].Severity == transform.Note), "%s: %+v", version, found)
		found = checked(CSIGateStale, Component{Args: list, Version: version, Stage: stages.SwitchToExternal})
		assert.Truef(t, len(found) == 0, "%s: %+v", version, found)
	}
}
