// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const managerArguments = "kube-controller-manager-arg"

// controlPlanesGainTheFlag wants the flag once on every control plane, and all
// other arguments in their order, when leader migration is enabled.
func controlPlanesGainTheFlag(o *outcome, i int) error {
	if o.Steps[i].Stage.Name != stages.EnableLeaderMigration {
		return nil
	}
	return eachMachine(o.values[i], o.values[i+1], func(machine labels.Set, before, after map[string]any) error {
		had, has := argumentsIn(before[managerArguments]), argumentsIn(after[managerArguments])
		flags := len(has) - len(withoutFlag(has))
		switch {
		case !slices.Equal(withoutFlag(had), withoutFlag(has)):
			return errors.New("the manager's other arguments change")
		case isControlPlane(machine) && flags != 1:
			return fmt.Errorf("control planes have the flag %d times", flags)
		}
		return nil
	})
}

// flagStaysOffOtherMachines wants entries that match no control plane to be
// left alone.
func flagStaysOffOtherMachines(o *outcome, i int) error {
	if o.Steps[i].Stage.Name != stages.EnableLeaderMigration {
		return nil
	}
	config, err := machineConfigsOf(o.values[i])
	if err != nil {
		return err
	}
	for _, d := range o.changes[i] {
		if !strings.HasPrefix(d.path, selectorConfig+"[].config.") {
			continue
		}
		entry := config.MachineSelectorConfig[d.was[strings.Count(selectorConfig, ".")+1].(int)]
		if !slices.ContainsFunc(config.machines(), func(machine labels.Set) bool {
			matches, err := entry.matches(machine)
			return err == nil && matches && isControlPlane(machine)
		}) {
			return fmt.Errorf("%s changes and matches no control plane", spot(d.was))
		}
	}
	return nil
}

// newEntriesOverrideNothing wants a new entry in front of all others, and one
// for all machines among them: without, Rancher's interface crashes.
func newEntriesOverrideNothing(o *outcome, i int) error {
	had, has := selectorEntries(o.values[i]), selectorEntries(o.values[i+1])
	switch {
	case len(has) <= len(had):
		return nil
	case !isFlagEntry(has[0]):
		return errors.New("the new entry is not before all others")
	case !slices.ContainsFunc(has, isForAllMachines):
		return errors.New("every entry has a selector")
	}
	return nil
}

func selectorEntries(cluster any) []any {
	for _, key := range strings.Split(selectorConfig, ".") {
		m, _ := cluster.(map[string]any)
		cluster = m[key]
	}
	list, _ := cluster.([]any)
	return list
}

func isForAllMachines(entry any) bool {
	m, _ := entry.(map[string]any)
	selector, _ := m["machineLabelSelector"].(map[string]any)
	return len(selector) == 0
}

// machinesEndExternal wants every machine to be external in the end, without
// the flag, and in all else as it was.
func machinesEndExternal(o *outcome) error {
	return eachMachine(o.values[0], o.values[len(o.Steps)], func(machine labels.Set, before, after map[string]any) error {
		if isControlPlane(machine) {
			if err := isExternal(o, before, after); err != nil {
				return err
			}
		}
		if override := o.overrides(); after["cloud-provider-name"] == "aws" && !override {
			return errors.New("the provider stays aws")
		} else if override && providerOf(after, "kubelet-arg") != "external" {
			return errors.New("the kubelet is not external")
		}
		return keepsTheRest(o, before, after)
	})
}

func isExternal(o *outcome, before, config map[string]any) error {
	manager := argumentsIn(config[managerArguments])
	override := o.overrides()
	switch {
	case !override && config["cloud-provider-name"] != "external":
		return errors.New("the provider is not external")
	case override && config["cloud-provider-name"] != before["cloud-provider-name"]:
		return errors.New("the provider's name, which names the nodes, changes")
	case providerOf(config, managerArguments) != "external" || providerOf(config, "kube-apiserver-arg") != "external" && !k8s.From(o.Cluster.Version, "v1.33"):
		return errors.New("a component is not external")
	case fmt.Sprint(config["disable-cloud-controller"]) != "true":
		return errors.New("RKE2's cloud controller is not disabled")
	case len(withoutFlag(manager)) != len(manager):
		return errors.New("the manager keeps the flag")
	}
	for _, component := range []string{"kubelet-arg", "kube-apiserver-arg", managerArguments} {
		for _, text := range argumentsIn(config[component]) {
			if strings.TrimPrefix(text, "--") == "cloud-provider=aws" {
				return fmt.Errorf("%s keeps the provider aws", component)
			}
		}
	}
	return nil
}

// providerOf returns the provider of a component: its own, or else the cluster's.
func providerOf(config map[string]any, component string) any {
	provider := config["cloud-provider-name"]
	for _, text := range argumentsIn(config[component]) {
		if own, is := strings.CutPrefix(strings.TrimPrefix(text, "--"), "cloud-provider="); is {
			provider = own
		}
	}
	return provider
}

// keepsTheRest compares what no stage may touch.
func keepsTheRest(o *outcome, before, after map[string]any) error {
	for _, d := range differences(before, after) {
		switch strings.TrimSuffix(d.path, "[]") {
		case "cloud-provider-name", "disable-cloud-controller":
		case "cloud-provider-config":
			if d.after != absent || !chartHasConfig(o) {
				return fmt.Errorf("%s changes", d.path)
			}
		case "kubelet-arg", "kube-apiserver-arg", managerArguments:
			if !slices.Equal(untouched(before, d), untouched(after, d)) {
				return fmt.Errorf("%s loses or gains arguments", d.path)
			}
		default:
			return fmt.Errorf("%s changes", d.path)
		}
	}
	return nil
}

// untouched returns the arguments at a difference that no stage changes.
func untouched(config map[string]any, d difference) []string {
	return withoutProvider(withoutFlag(argumentsIn(config[strings.TrimSuffix(d.path, "[]")])))
}

func isControlPlane(machine labels.Set) bool {
	return machine["rke.cattle.io/control-plane-role"] == "true"
}

// argumentsIn reads a list or a string; an empty string is no argument.
func argumentsIn(v any) []string {
	var list []string
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			list = append(list, fmt.Sprint(m))
		}
	case string:
		if v != "" {
			list = append(list, v)
		}
	}
	return list
}

func withoutFlag(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return isFlag(text) })
}
