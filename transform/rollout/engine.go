// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

// judge goes by the configuration that RKE applied last. It has more than the
// object, such as the machines, and the conditions of the change before are still
// True when a change is new.
func (e *Engine) judge(wanted Wanted) Progress {
	spec, _ := wanted.Object["spec"].(map[string]any)
	config, _ := spec["rancherKubernetesEngineConfig"].(map[string]any)
	var why string
	switch {
	case takenOver(config, e.Applied):
		why = notTrue(e.Conditions, "Updated", "Provisioned", "Ready")
	case e.Failed != nil && takenOver(config, e.Failed):
		why = "RKE's last try failed, and Rancher tries again" + said(e.Conditions["Updated"])
	default:
		why = "RKE has not applied the change yet" + said(e.Conditions["Updated"])
	}
	return Progress{Done: why == "", Waiting: why}
}

// takenOver compares what the stages of a migration change.
func takenOver(config, other map[string]any) bool {
	for _, key := range []string{"kubernetesVersion", "cloudProvider", "addons"} {
		if !same(config[key], other[key]) {
			return false
		}
	}
	services, _ := config["services"].(map[string]any)
	others, _ := other["services"].(map[string]any)
	for _, name := range []string{"kubeController", "kubeApi", "kubelet"} {
		if !same(withoutEnv(services[name]), withoutEnv(others[name])) {
			return false
		}
	}
	return true
}

// withoutEnv leaves out what Rancher moves into a Secret.
func withoutEnv(service any) any {
	s, is := service.(map[string]any)
	if !is {
		return service
	}
	out := map[string]any{}
	for key, v := range s {
		if key != "extraEnv" {
			out[key] = v
		}
	}
	return out
}
