// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// choice is what an operator may want of a plan.
type choice struct {
	name   string
	target transform.Target
}

// plain is the choice under which every cluster is planned.
var plain = choice{"external", transform.Target{EndState: transform.EndStateExternal}}

// choices are the others, of which every cluster gets one in turn.
var choices = []choice{
	{"no choice", transform.Target{}},
	{"override", transform.Target{EndState: transform.EndStateOverride}},
	{"override, kept", transform.Target{EndState: transform.EndStateOverride, KeepLeaderMigration: true, Cordon: transform.CordonAlways}},
	{"next minor", transform.Target{EndState: transform.EndStateExternal, Version: olderThanGrafted}},
	{"next minor, override", transform.Target{EndState: transform.EndStateOverride, Version: olderThanGrafted, Cordon: transform.CordonAlways}},
	{"without leader migration", transform.Target{EndState: transform.EndStateExternal, NoLeaderMigration: true}},
	{"without leader migration, override", transform.Target{EndState: transform.EndStateOverride, NoLeaderMigration: true, Version: olderThanGrafted}},
	{"kept", transform.Target{EndState: transform.EndStateExternal, KeepLeaderMigration: true, Cordon: transform.CordonNever}},
	{"cordoned", transform.Target{EndState: transform.EndStateExternal, Cordon: transform.CordonAlways}},
	{"another chart", transform.Target{EndState: transform.EndStateExternal, ChartVersion: "0.0.7", ChartRepo: "https://charts.example.com", ImageRepository: "registry.example.com/ccm", ImageTag: "v1.26.5"}},
}

// olderThanGrafted is one minor older than graftedVersion.
const olderThanGrafted = "v1.27.16+rke2r1"

// cordonsAsChosen wants nodes cordoned only where that was requested, or where
// every control plane has no other work and no release changes.
func cordonsAsChosen(o *outcome) error {
	config, err := machineConfigsOf(o.values[0])
	if err != nil {
		return err
	}
	cordons := o.Target.Version == ""
	for _, machine := range config.machines() {
		cordons = cordons && !(isControlPlane(machine) && machine["rke.cattle.io/worker-role"] == "true")
	}
	switch o.Target.Cordon {
	case transform.CordonAlways:
		cordons = true
	case transform.CordonNever:
		cordons = false
	}
	for _, name := range []string{stages.CordonControlPlane, stages.UncordonControlPlane} {
		s, has := o.Step(name)
		switch {
		case has == o.Target.NoLeaderMigration:
			return fmt.Errorf("%s is in the plan: %v", name, has)
		case has && len(s.Stage.After) > 0 != cordons:
			return errors.New(name + " is not as it was chosen")
		}
	}
	return nil
}
