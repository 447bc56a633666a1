// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import "maps"

// engineKey holds RKE's configuration.
const engineKey = "rancherKubernetesEngineConfig"

// evaluate uses the configuration that RKE applied last. It has more than the
// object, such as the machines, and the conditions of the change before are still
// True when a change is new.
func (e *Engine) evaluate(wanted Wanted) Progress {
	spec := migrated(specOf(wanted.Object))
	is := func(config map[string]any) bool {
		return wanted.alike(spec, map[string]any{engineKey: migratedEngine(config)})
	}
	var why string
	switch {
	case is(e.Applied):
		why = notTrue(e.Conditions, "Updated", "Provisioned", "Ready")
	case e.Failed != nil && is(e.Failed):
		why = "the last attempt of RKE failed, and Rancher retries" + said(e.Conditions["Updated"])
	default:
		why = "RKE has not applied the change yet" + said(e.Conditions["Updated"])
	}
	return Progress{Done: why == "", Waiting: why}
}

// migratedEngine is as much of RKE's configuration as a migration changes.
func migratedEngine(config map[string]any) map[string]any {
	kept := map[string]any{}
	for _, key := range []string{"kubernetesVersion", "cloudProvider", "addons"} {
		if v, there := config[key]; there {
			kept[key] = v
		}
	}
	services, _ := config["services"].(map[string]any)
	named := map[string]any{}
	for _, name := range []string{"kubeController", "kubeApi", "kubelet"} {
		if s, is := services[name].(map[string]any); is {
			s = maps.Clone(s)
			delete(s, "extraEnv") // Rancher moves it into a Secret
			named[name] = s
		}
	}
	kept["services"] = named
	return kept
}
