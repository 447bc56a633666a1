// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestConfigurationsAreUndoneStageByStage(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			target := s.target
			target.CanonicalForm = true
			p := planned(t, s.version, s.config, target)
			for _, st := range p.Steps {
				if !st.Changes() {
					continue
				}
				steps, err := plan.Undo(Format(), transform.Only(st.Documents[0].After), target, st.Stage.Name, false)
				switch {
				case err != nil && strings.Contains(s.config, "enable-leader") && st.Stage.Name != stages.DisableLeaderMigration,
					err != nil && strings.Contains(s.config, "HelmChart") && st.Stage.Name == stages.InstallCCM,
					err != nil && strings.Contains(s.config, "cloud-provider-config") && st.Stage.Name == stages.SwitchToExternal:
					continue // the file does not show what was there before
				case err != nil || len(steps) != 1:
					t.Errorf("%s: %d steps, %v", st.Stage.Name, len(steps), err)
				case st.Stage.Name == stages.EnableLeaderMigration && strings.Contains(configOf(steps[0].Documents[0].After), leadermigration.ConfigFile):
					t.Errorf("something is left:\n%s", configOf(steps[0].Documents[0].After))
				}
			}
		})
	}
}

func TestAConfigurationIsUndoneWithoutATrace(t *testing.T) {
	const files = "machineSelectorFiles:\n- fileSources:\n  - secret: {name: audit, items: [{key: policy, path: /etc/audit.yaml}]}\n"
	for _, stage := range stages.UndoNames() {
		was, is, err := back(t, determined+files, stage, with(func(t *transform.Target) { t.Version = "" }))
		if err != nil {
			t.Errorf("%s: %v", stage, err)
		} else if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stage, diff)
		}
	}
	_, _, err := back(t, determined, stages.EnableLeaderMigration, generated)
	refuses(t, "whether there were files", err, "machineSelectorFiles: it contains nothing else, and was either absent or empty before")
}
