// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// gateKeys are the arguments of the components that read feature gates.
var gateKeys = []string{kubeletArgs, "kube-proxy-arg", apiServerArgs, managerArgs, "kube-scheduler-arg"}

// Components are those that a shared rule checks, on any machine: each that reads feature gates, or the managers.
func (m *migration) Components(rule string) (list []rules.Component) {
	with := rules.Component{Version: m.move().Reached(), Stage: m.stage, Target: m.target}
	add := func(key string, at yamledit.Node, provider string) {
		with.Name, with.Args, with.Provider = strings.TrimSuffix(key, "-arg"), args.Place(at), provider
		list = append(list, with)
	}
	switch rule {
	case rules.CloudControllersOff.ID, rules.FlagLeftOnKCM.ID, rules.LeaseGrantMissing.ID, rules.LeaseTimingsUnsafe.ID:
		if rule == rules.LeaseGrantMissing.ID && m.bundle().Grants() {
			return nil
		}
		for _, class := range m.ControlPlanes {
			config := m.Effective(class)
			add(managerArgs, config[managerArgs].Origin, config.Provider(managerArgs))
		}
		if rule == rules.LeaseTimingsUnsafe.ID {
			return append(list, m.cloudManagers()...)
		}
		return list
	case rules.ConfigWithoutFlag.ID, rules.LeaderElectionOff.ID:
		provider := ""
		if m.isExternal() {
			provider = external
		}
		for _, at := range m.Winners(managerArgs, effective.Class.ControlPlane) {
			add(managerArgs, at, provider)
		}
	default:
		for _, key := range gateKeys {
			runs := func(c effective.Class) bool { return key == "kube-proxy-arg" || c.Runs(key) }
			for _, at := range m.Winners(key, runs) {
				add(key, at, "")
			}
		}
	}
	for _, c := range m.checked(rule) {
		version := c.chart.ImageTag() // the manager that reads these gates
		if !semver.IsValid(version) {
			version = m.move().Reached()
		}
		list = append(list, c.component(version))
	}
	if rule == rules.FlagUnknown.ID {
		m.leaveSlips(list)
	}
	return list
}

// component is the manager that the chart runs.
func (c installed) component(version string) rules.Component {
	return rules.Component{Name: leadermigration.CloudManager, Args: c.chart.Placed(), Version: version, Target: c.target, Place: c.inArgs}
}

// cloudManagers are those that ask for leases. One that is in the file may run already, so its timings count after every
// stage.
func (m *migration) cloudManagers() []rules.Component {
	list := rules.WorkloadComponents(m.bundle(), m.target)
	for _, c := range m.known(rules.LeaseTimingsUnsafe.ID) {
		list = append(list, c.component(c.chart.ImageMinor()))
	}
	return list
}

// leaveSlips leaves out the slips of a migration's flags, which have a rule of their own.
func (m *migration) leaveSlips(list []rules.Component) {
	slipped := map[string]bool{}
	for _, s := range m.slippedArgs() {
		slipped[s.Node().Path()] = true
	}
	for i, c := range list {
		list[i].Args = slices.DeleteFunc(c.Args, func(a args.Arg) bool { return slipped[a.Node().Path()] })
	}
}
