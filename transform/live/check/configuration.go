// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// configuration is a LeaderMigrationConfiguration, as far as it decides who runs
// what.
type configuration struct {
	LeaderName string `json:"leaderName"`
	Leaders    []struct {
		Name      string `json:"name"`
		Component string `json:"component"`
	} `json:"controllerLeaders"`
}

// configuration reads the one of a manager; nil where it has none, or where it cannot be read, and why.
func (p *Process) configuration() (*configuration, string) {
	switch {
	case !p.Flag || p.value(leadermigration.ConfigFlag, "") == "":
		return nil, ""
	case p.ConfigDenied:
		return nil, "the LeaderMigrationConfiguration of " + p.Component + " cannot be read: get configmaps in " + p.Space() + " is not allowed"
	case p.Config == nil:
		return nil, p.Component + " has its LeaderMigrationConfiguration in a file on its node"
	}
	conf := &configuration{}
	if err := yaml.Unmarshal([]byte(*p.Config), conf); err != nil {
		return nil, "the LeaderMigrationConfiguration of " + p.Component + " is no YAML"
	}
	p.Migration = cmp.Or(conf.LeaderName, p.Migration)
	return conf, ""
}

// byDefault is what a manager does with the flag alone. From 1.28 on the default
// lists service-controller and route-controller, which the cloud-controller-manager does
// not register.
func (p *Process) byDefault(c Controller, version string) (Mode, string) {
	switch {
	case p.Component != observed.CloudManager, version != "" && !leadermigration.Renamed(version), version != "" && c == NodeLifecycle:
		return UnderMigration, ""
	case version == "":
		return Never, "the tag of " + p.Component + "'s image does not show its version, which determines its default configuration"
	}
	return UnderMain, ""
}

// mode looks a controller up as the manager does: by the name that it registers;
// the last entry of a name counts. Where the version is not known either name
// does.
func (conf configuration) mode(c Controller, component, version string) Mode {
	mode := UnderMain
	for _, l := range conf.Leaders {
		switch {
		case !leadermigration.Registers(version, string(c), l.Name):
			continue
		case l.Component == component || l.Component == "*":
			mode = UnderMigration
		default:
			mode = Never
		}
	}
	return mode
}
