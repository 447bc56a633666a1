// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// Judge says how far a change has come.
func Judge(seen Seen, wanted Wanted) Progress {
	if seen.Engine != nil {
		return seen.Engine.judge(wanted)
	}
	p := Progress{}
	for _, m := range seen.Machines {
		if m.Deleting {
			continue
		}
		one := m.judge(wanted)
		p.Machines = append(p.Machines, one)
		if p.Failed == "" {
			p.Failed = m.failed(wanted)
		}
		if !one.Done && p.Waiting == "" {
			p.Waiting = "machine " + one.Name + ": " + one.Waiting
		}
	}
	if why := seen.ControlPlane.waiting(wanted); why != "" && (p.Waiting == "" || !seen.ControlPlane.follows(wanted)) {
		p.Waiting = why
	}
	if p.Waiting == "" && len(p.Machines) == 0 {
		p.Waiting = "Rancher shows no machine of the cluster"
	}
	p.Done = p.Waiting == "" && p.Failed == ""
	return p
}

// follows reports whether Rancher has seen the change at all.
func (c *ControlPlane) follows(wanted Wanted) bool {
	return c != nil && c.carries(wanted.Object) && c.Observed == c.Generation
}

// waiting returns what the control plane lacks, or "".
func (c *ControlPlane) waiting(wanted Wanted) string {
	switch {
	case c == nil:
		return "Rancher has not made the RKEControlPlane yet"
	case !c.carries(wanted.Object):
		return "Rancher has not copied the change into the RKEControlPlane yet"
	case c.Observed != c.Generation:
		return "Rancher has not looked at the last change of the RKEControlPlane yet"
	case !same(c.Spec, c.Applied):
		return "Rancher has not applied the whole change yet" + c.said("Reconciled")
	}
	return notTrue(c.Conditions, "Reconciled", "Ready")
}

// configKeys are what the stages of a migration change of rkeConfig, and what else
// reaches machines from there.
var configKeys = []string{"machineGlobalConfig", "machineSelectorConfig", "machineSelectorFiles", "additionalManifest", "chartValues"}

// carries reports whether the control plane has the configuration of the object.
func (c *ControlPlane) carries(object map[string]any) bool {
	spec, config := partsOf(object)
	for _, key := range configKeys {
		if !same(config[key], c.Spec[key]) {
			return false
		}
	}
	return same(spec["kubernetesVersion"], c.Spec["kubernetesVersion"])
}

// Overtaken reports whether an object has another configuration than the one that
// was written: somebody else has changed it since.
func Overtaken(now map[string]any, wanted Wanted) bool {
	spec, config := partsOf(now)
	if engine, is := spec["rancherKubernetesEngineConfig"].(map[string]any); is {
		old, _ := partsOf(wanted.Object)
		was, _ := old["rancherKubernetesEngineConfig"].(map[string]any)
		return !takenOver(was, engine)
	}
	c := &ControlPlane{Spec: map[string]any{"kubernetesVersion": spec["kubernetesVersion"]}}
	for _, key := range configKeys {
		c.Spec[key] = config[key]
	}
	return !c.carries(wanted.Object)
}

// partsOf returns the specification of a cluster, and RKE2's part of it.
func partsOf(object map[string]any) (spec, config map[string]any) {
	spec, _ = object["spec"].(map[string]any)
	config, _ = spec["rkeConfig"].(map[string]any)
	return spec, config
}

func (c *ControlPlane) said(name string) string { return said(c.Conditions[name]) }

// notTrue names the first condition that is not True, or "".
func notTrue(conditions map[string]Condition, names ...string) string {
	for _, name := range names {
		if c := conditions[name]; c.Status != "True" {
			return fmt.Sprintf("the condition %s is not True%s", name, said(c))
		}
	}
	return ""
}

// said returns what a condition says for people, behind a colon.
func said(c Condition) string {
	if c.Message == "" {
		return ""
	}
	return ": " + redact.Text(c.Message)
}
