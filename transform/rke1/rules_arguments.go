// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// argumentRules are those about the arguments of components.
func argumentRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "extra-args-type", Severity: transform.Error, Guards: rules.EveryEdit,
			Doc: "A value in extra_args is not a string. Rancher's API rejects it; RKE itself accepts it, so it is a note in a cluster.yml."}.Because(
			"Rancher's API takes only strings and refuses the object.", "rancher/rke types: ExtraArgs is a map of strings", "Quote the value; `rke-lm lint --fix` does so.", "In a cluster.yml, where RKE reads it."),
			Check: func(m *migration, found *transform.Findings) {
				for _, a := range m.unquoted() {
					f := found.At(a.Node(), "the value of an argument must be a string; Rancher's API rejects other types", "quote it")
					if m.spelling == snake {
						f.Message, f.Severity = "the value of an argument must be a string; RKE itself accepts this one, and Rancher's API rejects it", transform.Note
					}
				}
			}, Fix: (*migration).quoteExtraArgs},
		{Rule: rules.UnknownConfigKey.WithDoc(
			"A service in a cluster.yml is written with an underscore (kube_controller), as in Rancher's templates; RKE itself ignores it."),
			Check: func(m *migration, found *transform.Findings) {
				for _, n := range m.underscored() {
					found.At(n, "this is not a service of RKE, so everything below it is ignored", "write "+dashed(n.Key()))
				}
			}, Fix: (*migration).spellServices},
	}
}

// unquoted returns the flags whose values are booleans or numbers.
func (m *migration) unquoted() []args.Arg {
	var found []args.Arg
	for _, service := range m.get(servicesKey).Entries() {
		for _, key := range []string{argsKey, winArgsKey} {
			for _, a := range args.OfMap(m.spelling.get(service.Value, key)) {
				switch a.Node().Value().(type) {
				case bool, float64:
					found = append(found, a)
				}
			}
		}
	}
	return found
}

func (m *migration) quoteExtraArgs() []transform.Correction {
	return lists.Map(m.unquoted(), func(a args.Arg) transform.Correction {
		return func(e *yamledit.Edit) { e.Set(a.Node(), a.Value) }
	})
}

// underscored returns the services of a cluster.yml that RKE does not read.
func (m *migration) underscored() []yamledit.Node {
	if m.Wrapped {
		return nil
	}
	found := lists.Where(m.get(servicesKey).Entries(), func(e yamledit.Entry) bool { return e.Key == "kube_controller" || e.Key == "kube_api" })
	return lists.Map(found, func(e yamledit.Entry) yamledit.Node { return e.Value })
}

func dashed(key string) string { return strings.ReplaceAll(key, "_", "-") }

func (m *migration) spellServices() []transform.Correction {
	return lists.Map(m.underscored(), func(n yamledit.Node) transform.Correction {
		return func(e *yamledit.Edit) { e.Rename(n, dashed(n.Key())) }
	})
}

// gateServices are the components that read feature gates, with their own names.
var gateServices = [][2]string{{apiService, "kube-apiserver"}, {manager, leadermigration.Manager}, {scheduler, "kube-scheduler"}, {kubelet, "kubelet"}, {proxy, "kube-proxy"}}

// Components are those that a shared rule checks: each that reads feature gates, or kube-controller-manager.
func (m *migration) Components(rule string) (list []rules.Component) {
	alone := true
	switch rule {
	case rules.LeaderElectionOff.ID:
		if m.isExternal() {
			return nil // the other manager is the one that takes part
		}
	case rules.LeaseGrantMissing.ID:
		if m.bundle().Grants() {
			return nil // what addons_include names is not in the file
		}
	case rules.CloudControllersOff.ID, rules.ConfigWithoutFlag.ID, rules.FlagLeftOnKCM.ID, rules.LeaseTimingsUnsafe.ID:
	default:
		alone = false
	}
	for _, s := range gateServices {
		if !alone || s[0] == manager {
			list = append(list, rules.Component{Name: s[1], Args: m.argsOf(s[0]), Provider: m.component(s[0]), Version: m.move().Reached(), Stage: m.stage, Target: m.target})
		}
	}
	if rule == rules.LeaseTimingsUnsafe.ID {
		return append(list, m.cloudManagers()...)
	}
	return list
}

// cloudManagers are those that ask for leases. One of addons or of the values file may run already, so its timings count
// after every stage.
func (m *migration) cloudManagers() []rules.Component {
	list := rules.WorkloadComponents(m.bundle(), m.target)
	if m.file != nil {
		list = append(list, rules.Component{Name: leadermigration.CloudManager, Args: m.file.chart.Placed(), Version: m.file.chart.ImageMinor(), Target: m.target})
	}
	return list
}
