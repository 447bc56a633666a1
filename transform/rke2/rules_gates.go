// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// gateKeys are the arguments of the components that read feature gates.
var gateKeys = []string{kubeletArgs, "kube-proxy-arg", apiServerArgs, managerArgs, "kube-scheduler-arg"}

func (m *migration) csiGateStale() []transform.Finding {
	return m.eachComponent(func(_ string, list []args.Placed) []transform.Finding {
		return rules.CSIGateStale.Check(list, m.move().Reached(), m.stage, transform.FindingAt)
	})
}

// flagOnExternalGate checks the gates of both managers.
func (m *migration) flagOnExternalGate() []transform.Finding {
	found := m.eachComponent(func(_ string, list []args.Placed) []transform.Finding {
		return rules.FlagOnExternalGate.Check(list, m.move().Reached(), transform.FindingAt)
	})
	return append(found, m.eachChecked(rules.FlagOnExternalGate.ID, func(c installed) []transform.Finding {
		version := c.chart.ImageTag() // the manager that reads these gates
		if !semver.IsValid(version) {
			version = m.move().Reached()
		}
		return rules.FlagOnExternalGate.Check(c.chart.Placed(), version, c.inArgs)
	})...)
}

// flagUnknown leaves out the slips of a migration's flags, which have a rule of their own.
func (m *migration) flagUnknown() []transform.Finding {
	slipped := map[string]bool{}
	for _, s := range m.slippedArgs() {
		slipped[s.Node.Path()] = true
	}
	return m.eachComponent(func(component string, list []args.Placed) []transform.Finding {
		list = slices.DeleteFunc(list, func(a args.Placed) bool { return slipped[a.Node.Path()] })
		return rules.FlagUnknown.Check(component, list, m.move().Reached(), transform.FindingAt)
	})
}

// eachComponent calls check for the arguments of each component that reads feature
// gates, on any machine.
func (m *migration) eachComponent(check func(component string, list []args.Placed) []transform.Finding) []transform.Finding {
	var found []transform.Finding
	for _, key := range gateKeys {
		runs := func(c Class) bool { return key == "kube-proxy-arg" || m.needs(c, key) }
		for _, at := range m.winners(key, runs) {
			found = append(found, check(strings.TrimSuffix(key, "-arg"), args.Place(at))...)
		}
	}
	return found
}
