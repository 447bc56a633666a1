// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// unquoted returns the flags whose values are booleans or numbers.
func (m *migration) unquoted() []args.Placed {
	var found []args.Placed
	for _, service := range m.get(servicesKey).Entries() {
		for _, key := range []string{argsKey, winArgsKey} {
			for _, a := range args.OfMap(m.spelling.get(service.Value, key)) {
				switch a.Node.Value().(type) {
				case bool, float64:
					found = append(found, a)
				}
			}
		}
	}
	return found
}

func (m *migration) extraArgsType() []transform.Finding {
	var found []transform.Finding
	for _, a := range m.unquoted() {
		f := transform.FindingAt(a.Node, "the value of an argument must be a string; Rancher's API rejects other types", "quote it")
		if m.spelling == snake {
			f.Message, f.Severity = "the value of an argument must be a string; RKE itself accepts this one, and Rancher's API rejects it", transform.Note
		}
		found = append(found, f)
	}
	return found
}

func (m *migration) quoteExtraArgs() []transform.Correction {
	var fixes []transform.Correction
	for _, a := range m.unquoted() {
		fixes = append(fixes, func(e *yamledit.Edit) error {
			e.Set(a.Node, a.Value)
			return nil
		})
	}
	return fixes
}

// underscored returns the services of a cluster.yml that RKE does not read.
func (m *migration) underscored() []yamledit.Node {
	if m.Wrapped {
		return nil
	}
	var found []yamledit.Node
	for _, e := range m.get(servicesKey).Entries() {
		if e.Key == "kube_controller" || e.Key == "kube_api" {
			found = append(found, e.Value)
		}
	}
	return found
}

func dashed(key string) string { return strings.ReplaceAll(key, "_", "-") }

func (m *migration) unknownService() []transform.Finding {
	var found []transform.Finding
	for _, n := range m.underscored() {
		found = append(found, transform.FindingAt(n, "this is not a service of RKE, so everything below it is ignored", "write "+dashed(n.Key())))
	}
	return found
}

func (m *migration) spellServices() []transform.Correction {
	var fixes []transform.Correction
	for _, n := range m.underscored() {
		fixes = append(fixes, func(e *yamledit.Edit) error {
			e.Rename(n, dashed(n.Key()))
			return nil
		})
	}
	return fixes
}

// gateServices are the components that read feature gates, with their own names.
var gateServices = [][2]string{{apiService, "kube-apiserver"}, {manager, "kube-controller-manager"}, {scheduler, "kube-scheduler"}, {kubelet, "kubelet"}, {proxy, "kube-proxy"}}

func (m *migration) csiGateStale() []transform.Finding {
	return m.eachComponent(func(_ string, list []args.Placed) []transform.Finding {
		return rules.CSIGateStale.Check(list, m.move().Reached(), m.stage, transform.FindingAt)
	})
}

func (m *migration) flagOnExternalGate() []transform.Finding {
	return m.eachComponent(func(_ string, list []args.Placed) []transform.Finding {
		return rules.FlagOnExternalGate.Check(list, m.move().Reached(), transform.FindingAt)
	})
}

func (m *migration) flagUnknown() []transform.Finding {
	return m.eachComponent(func(component string, list []args.Placed) []transform.Finding {
		return rules.FlagUnknown.Check(component, list, m.move().Reached(), transform.FindingAt)
	})
}

// eachComponent calls check for the arguments of each component that reads feature
// gates.
func (m *migration) eachComponent(check func(component string, list []args.Placed) []transform.Finding) []transform.Finding {
	var found []transform.Finding
	for _, service := range gateServices {
		found = append(found, check(service[1], m.argsOf(service[0]))...)
	}
	return found
}

// leaderElectionOff checks the manager that takes part.
func (m *migration) leaderElectionOff() []transform.Finding {
	if m.isExternal() {
		return nil
	}
	return rules.LeaderElectionOff.Check(m.argsOf(manager), "kube-controller-manager", m.target, transform.FindingAt)
}
