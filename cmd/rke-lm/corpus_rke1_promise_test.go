// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/stages"
)

// onlyRKE1Differs wants of every stage only the differences that it promises. It
// knows values only: nothing of bytes, nor of the checks that a plan makes.
func onlyRKE1Differs(o *outcome, i int) error {
	promised, known := rke1Promises[o.Steps[i].Stage.Name]
	if !known {
		return errors.New("this stage is not to edit the document")
	}
	if len(o.changes[i]) == 0 {
		return errors.New("bytes change and no value does")
	}
	for _, d := range o.changes[i] {
		d.path = asInClusterYML(d.path)
		if !promised(d) {
			return fmt.Errorf("%s changes otherwise than promised: %s becomes %s", spot(d.is), kindOf(d.before), kindOf(d.after))
		}
	}
	return nil
}

var rke1Promises = map[string]func(difference) bool{
	stages.GrantMigrationLease: func(d difference) bool {
		asRKE2 := d
		asRKE2.path = "spec.rkeConfig.additionalManifest"
		return d.path == "addons" && isGrant(asRKE2)
	},
	stages.EnableLeaderMigration: isManagerFlagSet,
	stages.SwitchToExternal:      isRKE1Switch,
}

// asInClusterYML spells the path to a value as a cluster.yml does.
func asInClusterYML(path string) string {
	for _, wrapper := range []string{"rancher_kubernetes_engine_config.", "rancherKubernetesEngineConfig."} {
		path = strings.TrimPrefix(path, wrapper)
	}
	return strings.NewReplacer("cloudProvider.", "cloud_provider.", "kubeController", "kube-controller", "kube_controller", "kube-controller",
		"extraArgsArray", "extra_args_array", "extraArgs", "extra_args", "kubernetesVersion", "kubernetes_version").Replace(path)
}

const (
	managerFlag  = "services.kube-controller.extra_args.enable-leader-migration"
	managerFlags = "services.kube-controller.extra_args_array.enable-leader-migration"
)

// leavesOf returns the values below a place by the paths to them; nothing for what
// is absent, null or empty.
func leavesOf(path string, v any) map[string]any {
	found := map[string]any{}
	switch v := v.(type) {
	case absence, nil:
	case map[string]any:
		for key, inner := range v {
			maps.Copy(found, leavesOf(asInClusterYML(path+"."+key), inner))
		}
	case []any:
		for _, inner := range v {
			found[path] = inner
		}
	default:
		found[strings.TrimSuffix(path, "[]")] = v
	}
	return found
}

// isManagerFlagSet wants the flag alone to come, as a string, or to be switched on.
func isManagerFlagSet(d difference) bool {
	after := leavesOf(d.path, d.after)
	before := leavesOf(d.path, d.before)
	value, set := after[managerFlag]
	if repeated, found := after[managerFlags]; found {
		value, set = repeated, true
	}
	if !set || value != "true" || len(after) != 1 {
		return false
	}
	for path, old := range before {
		if path != managerFlag && path != managerFlags || fmt.Sprint(old) != "false" {
			return false
		}
	}
	return true
}

func isRKE1Switch(d difference) bool {
	switch {
	case d.path == "cloud_provider.name":
		return d.after == "external-aws" && slices.Contains([]any{"aws", "", nil, absent}, d.before)
	case d.path == "cloud_provider.useInstanceMetadataHostname":
		return d.after == true
	case d.path == "cloud_provider.awsCloudProvider":
		return d.after == absent
	case d.path == "cloud_provider.customCloudProvider":
		text, _ := d.after.(string)
		return (d.before == absent || d.before == "") && strings.HasPrefix(text, "[")
	case strings.HasSuffix(strings.TrimSuffix(d.path, "[]"), "."+"cloud-provider"):
		return d.before == "aws" && d.after == "external"
	}
	before := leavesOf(d.path, d.before)
	delete(before, managerFlag)
	delete(before, managerFlags)
	return strings.HasPrefix(d.path, "services") && d.after == absent && len(before) == 0
}

// endsExternalAWS wants what RKE reads in the end to be external, whatever was
// there.
func endsExternalAWS(o *outcome) error {
	value, ok := o.values[len(o.Steps)].(map[string]any)
	if !ok {
		return errors.New("the end is no mapping")
	}
	for _, wrapper := range []string{"rancher_kubernetes_engine_config", "rancherKubernetesEngineConfig"} {
		if inner, wrapped := value[wrapper].(map[string]any); wrapped {
			value = inner
		}
	}
	provider, _ := value["cloud_provider"].(map[string]any)
	if provider == nil {
		provider, _ = value["cloudProvider"].(map[string]any)
	}
	_, block := provider["awsCloudProvider"]
	switch {
	case provider["name"] != "external-aws":
		return errors.New("the provider is not external-aws")
	case block:
		return errors.New("the block awsCloudProvider is still there")
	case strings.Contains(fmt.Sprint(value["services"]), "enable-leader-migration"):
		return errors.New("a service keeps the flag")
	}
	return nil
}
