// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// isSwitch wants the provider to become external where the end state says, the
// flag to go with it, and the release to move if that was chosen.
func isSwitch(o *outcome, d difference) error {
	override := o.overrides()
	if d.path == "spec.kubernetesVersion" && o.Target.Version != "" && d.after == o.Target.Version {
		return nil
	}
	argument := argumentOf(d)
	promised := d.path == selectorConfig+"[]" && d.after == absent && holdsOnlyFlag(d.before)
	switch strings.TrimSuffix(argument, "[]") {
	case "cloud-provider-name":
		promised = d.before == "aws" && d.after == "external" && !override
	case "disable-cloud-controller":
		promised = d.before != true && d.after == true
	case "kube-controller-manager-arg":
		promised = isProviderSwitched(d) || isFlagRemoved(d) || override && isOverridden(d)
	case "kubelet-arg":
		promised = isProviderSwitched(d) || override && isOverridden(d)
	case "kube-apiserver-arg":
		promised = isProviderSwitched(d) || override && isOverridden(d)
		if k8s.From(o.releaseReached(), "v1.33") {
			promised = isRemoved(d, isCloudArgument)
		}
	case "cloud-provider-config":
		promised = d.after == absent && chartHasConfig(o)
	}
	if override && d.path == globalConfig {
		promised = isFreshOverride(d)
	}
	if !promised {
		return errors.New("it is no such change")
	}
	return nil
}

// releaseReached is the release of Kubernetes that the cluster has after the stages.
func (o *outcome) releaseReached() string {
	text, _ := field(o.values[len(o.values)-1], "spec", "kubernetesVersion").(string)
	return text
}

// namesNodes reports whether the cluster has pools, and aws on each control plane.
func (o *outcome) namesNodes() bool {
	pools, _ := field(o.values[0], "spec", "rkeConfig", "machinePools").([]any)
	err := eachMachine(o.values[0], o.values[0], func(machine labels.Set, config, _ map[string]any) error {
		if isControlPlane(machine) && config["cloud-provider-name"] != "aws" {
			return errors.New("this one has another name")
		}
		return nil
	})
	return len(pools) > 0 && err == nil
}

// overrides reports whether the provider's name is to stay: by choice, because every machine is
// external by its own arguments already, or because machines of pools would be renamed and no
// control plane is external by name.
func (o *outcome) overrides() bool {
	if o.Target.EndState != "" || !o.Target.Situation.HasInTreeProvider() {
		return o.Target.EndState != transform.EndStateExternal
	}
	if o.namesNodes() {
		return true
	}
	err := eachMachine(o.values[0], o.values[0], func(machine labels.Set, config, _ map[string]any) error {
		manager := isControlPlane(machine) && providerOf(config, managerArguments) != "external"
		if manager || providerOf(config, "kubelet-arg") != "external" || isControlPlane(machine) && config["cloud-provider-name"] != "aws" {
			return errors.New("this one is not")
		}
		return nil
	})
	return err == nil
}

// chartHasConfig reports whether the chart has the provider's configuration
// when it leaves the machines: after the stages before the switch, or in a broken cluster,
// whose chart comes after the switch, with the chart.
func chartHasConfig(o *outcome) bool {
	for i, s := range o.Steps {
		if o.Target.Situation == transform.Broken {
			i = len(o.Steps)
		} else if s.Stage.Name != stages.SwitchToExternal {
			continue
		}
		text, _ := field(o.values[i], "spec", "rkeConfig", "additionalManifest").(string)
		docs, err := manifestsIn(text)
		if err != nil {
			return false
		}
		chart, err := chartAmong(docs)
		_, configured := chart.arg("cloud-config")
		return err == nil && chart.at >= 0 && configured
	}
	return false
}

// isOverridden wants one argument that names the provider external to come to
// those that are there, but for the flag.
func isOverridden(d difference) bool {
	if strings.HasSuffix(d.path, "[]") {
		return (d.before == absent || isFlag(d.before)) && isExternalArgument(d.after)
	}
	had, has := argumentsIn(d.before), argumentsIn(d.after)
	return len(has) > 0 && isExternalArgument(has[len(has)-1]) &&
		slices.Equal(withoutProvider(withoutFlag(had)), withoutProvider(has))
}

func isExternalArgument(v any) bool {
	text, _ := v.(string)
	return strings.TrimPrefix(text, "--") == "cloud-provider=external"
}

func withoutProvider(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool {
		return strings.HasPrefix(strings.TrimPrefix(text, "--"), "cloud-provider=")
	})
}

// isFreshOverride wants a configuration where there was none, of that argument.
func isFreshOverride(d difference) bool {
	config, _ := d.after.(map[string]any)
	for key, v := range config {
		if !slices.Contains([]string{"kubelet-arg", "kube-apiserver-arg", managerArguments}, key) || !isOverridden(difference{before: absent, after: v}) {
			return false
		}
	}
	return len(config) > 0 && (d.before == absent || d.before == nil)
}

func isProviderSwitched(d difference) bool {
	text, _ := d.before.(string)
	name, value, _ := strings.Cut(text, "=")
	return strings.TrimPrefix(name, "--") == "cloud-provider" && value == "aws" && d.after == name+"=external"
}

func isFlagRemoved(d difference) bool { return isRemoved(d, isFlag) }

// isRemoved wants such an argument to go, and with it a key that held nothing else;
// a string may stay, empty.
func isRemoved(d difference, is func(any) bool) bool {
	if list, isList := d.before.([]any); isList {
		return d.after == absent && len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { return !is(v) })
	}
	return is(d.before) && (d.after == absent || d.after == "")
}

// isCloudArgument reports whether a value is one of the two arguments that kube-apiserver 1.33
// does not have.
func isCloudArgument(v any) bool {
	text, _ := v.(string)
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	return name == "cloud-provider" || name == "cloud-config"
}

// holdsOnlyFlag reports whether a value is an entry with a selector whose
// config is the flag.
func holdsOnlyFlag(v any) bool {
	entry, _ := v.(map[string]any)
	config, _ := entry["config"].(map[string]any)
	arguments := difference{before: member(config, "kube-controller-manager-arg"), after: absent}
	_, selective := entry["machineLabelSelector"]
	return selective && len(entry) == 2 && len(config) == 1 && isFlagRemoved(arguments)
}
