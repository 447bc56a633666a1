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
)

const managerArguments = "kube-controller-manager-arg"

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
