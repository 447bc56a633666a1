// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// eachWinner calls check for every location that wins a key.
func (m *migration) eachWinner(key string, check func(yamledit.Node) (message, fix string)) []transform.Finding {
	return eachOf(m.winners(key, anyClass), check)
}

func anyClass(Class) bool { return true }

func eachOf(nodes []yamledit.Node, check func(yamledit.Node) (message, fix string)) []transform.Finding {
	var found []transform.Finding
	for _, n := range nodes {
		if message, fix := check(n); message != "" {
			found = append(found, transform.FindingAt(n, message, fix))
		}
	}
	return found
}

func (m *migration) providerInSelector() []transform.Finding {
	return m.eachWinner(providerKey, func(n yamledit.Node) (string, string) {
		if s, _ := n.String(); s != inTree && s != external || n.Same(m.Layers[0].Get(providerKey)) {
			return "", ""
		}
		return "the provider is set here, not in machineGlobalConfig", "nothing: the switch edits this location"
	})
}

// inTreeGone checks what makes components in-tree; on late releases the provider's
// name only names nodes.
func (m *migration) inTreeGone() (found []transform.Finding) {
	if !rules.InTreeGone.Applies(m.move(), m.stage) {
		if len(m.inTreeNodes()) > 0 {
			for _, key := range []string{"kube-controller-manager-image", "runtime-image"} {
				found = append(found, m.eachWinner(key, rules.InTreeGone.Image)...)
			}
		}
		return found
	}
	for _, n := range m.inTreeNodes() {
		if n.Key() == providerKey && m.onlyNamesNodes() {
			found = append(found, transform.FindingAt(n, "RKE2 "+m.Version+" reads the node's name from the instance metadata here, and passes a cloud provider to no component: the cluster has no cloud controllers",
				"apply the stages that rke-lm plan shows for this release: they install a cloud-controller-manager and keep the names of nodes; see docs/past-1.26.md"))
		} else {
			found = append(found, rules.InTreeGone.At(n, m.move())...)
		}
	}
	return found
}

// inTreeNodes returns what makes a component of any machine in-tree: the
// provider's name, or an argument of the component.
func (m *migration) inTreeNodes() []yamledit.Node {
	var nodes []yamledit.Node
	for _, class := range m.Classes {
		config := m.Effective(class)
		for _, key := range componentArgs {
			if !m.needs(class, key) || !m.knowsProvider(key) || config.provider(key) != inTree {
				continue
			}
			if at := config.providerOrigin(key); !slices.ContainsFunc(nodes, at.Same) {
				nodes = append(nodes, at)
			}
		}
	}
	return nodes
}

// providerMixed compares the components of all machines.
func (m *migration) providerMixed() []transform.Finding {
	var list []rules.Provided
	for _, key := range componentArgs {
		for _, class := range m.Classes {
			if config := m.Effective(class); m.needs(class, key) {
				list = append(list, rules.Provided{What: strings.TrimSuffix(key, "-arg") + " on " + class.Name, Provider: config.provider(key), At: config.providerOrigin(key)})
			}
		}
	}
	return rules.ProviderMixed.Check(list, m.Version)
}

// stubEnabled checks control planes. Up to 1.35 any cloud-provider-name also turns
// the stub off, from 1.36 on only the key does (rancher/rke2,
// pkg/rke2/rke2_linux.go at v1.34.1 and v1.36.0).
func (m *migration) stubEnabled() []transform.Finding {
	if m.stage == stages.InstallCCM && m.nameStopsStub() {
		return nil // it does not run, and the switch writes the key
	}
	var nodes []yamledit.Node
	for _, class := range m.Classes {
		config := m.Effective(class)
		if !class.ControlPlane() || !m.wantsNoStub(config) || truthy(config[disableStub].Value) {
			continue
		}
		at := config.providerOrigin(managerArgs)
		if off := config[disableStub].Origin; off.Exists() {
			at = off
		}
		if !slices.ContainsFunc(nodes, at.Same) {
			nodes = append(nodes, at)
		}
	}
	const fix = "set " + disableStub + ": true for the same machines"
	found := eachOf(nodes, func(yamledit.Node) (string, string) {
		if m.nameStopsStub() {
			return "only " + providerKey + " disables RKE2's own stub cloud controller here; from RKE2 1.36 on it does not", fix
		}
		return "RKE2's own stub cloud controller is not disabled, and gives nodes the provider ID rke2://", fix
	})
	if m.nameStopsStub() {
		for i := range found {
			found[i].Severity = transform.Warning
		}
	}
	return found
}

// wantsNoStub reports whether RKE2's stub would meet another owner of the nodes:
// an external provider, or none where aws only names the nodes.
func (m *migration) wantsNoStub(config Config) bool {
	provider := config.provider(managerArgs)
	return provider == external || provider == inTree && m.onlyNamesNodes() && !m.nameStopsStub()
}

// nameStopsStub reports whether the provider's name turns the stub off for every
// control plane.
func (m *migration) nameStopsStub() bool {
	return !k8s.From(m.move().Reached(), "v1.36") && !slices.ContainsFunc(m.Classes, func(c Class) bool {
		name, _ := m.Effective(c)[providerKey].Value.(string)
		return c.ControlPlane() && name == ""
	})
}

// providerOrigin returns what decides on the provider of a component.
func (c Config) providerOrigin(component string) yamledit.Node {
	if a, found := args.LastAt(c[component].Origin, componentFlag); found {
		return a.Node
	}
	return c[providerKey].Origin
}

// providerRemoved finds clusters that show a migration and have no provider, and
// warns of a name that is set to nothing: Rancher's interface writes that where a
// provider is taken away, and also where there never was one. A cluster whose
// components are all external by their own arguments, with the stub turned off,
// needs no name.
func (m *migration) providerRemoved() []transform.Finding {
	for _, class := range m.Classes {
		config := m.Effective(class)
		all := m.Candidates(class, providerKey)
		if name, _ := config[providerKey].Value.(string); !class.ControlPlane() || name != "" {
			continue
		}
		shows := m.showsMigration(config)
		if !shows && len(all) == 0 {
			continue
		}
		if truthy(config[disableStub].Value) && config.provider(managerArgs) == external && config.provider(kubeletArgs) == external {
			continue
		}
		at := m.RKEConfig()
		if len(all) > 0 {
			at = all[len(all)-1]
		} else if global := at.Get("machineGlobalConfig"); global.Exists() {
			at = global
		}
		const stub = ": RKE2 starts its stub cloud controller, which gives nodes the provider ID rke2://"
		if !shows {
			f := transform.FindingAt(at, "no "+providerKey+" reaches the machines of class "+class.Name+stub+", and a node with a name from the instance metadata registers as a new Node",
				"nothing, if the cluster never had a provider; if it runs on AWS, write "+inTree+" or "+external+" here")
			f.Severity = transform.Warning
			return []transform.Finding{f}
		}
		return []transform.Finding{transform.FindingAt(at, "no "+providerKey+" reaches the machines of class "+class.Name+stub,
			"set "+providerKey+": external and "+disableStub+": true")}
	}
	return nil
}

// showsMigration reports whether a control plane's configuration, or the
// manifest, has what only a migration to the external provider leaves.
func (m *migration) showsMigration(config Config) bool {
	_, flag := args.Last(args.Of(config[managerArgs].Value), leaderFlag)
	return flag || m.Manager().Exists() || slices.ContainsFunc(componentArgs, func(key string) bool { return config.provider(key) == external })
}

func (m *migration) flagLeftOnKCM() []transform.Finding {
	return m.eachManager(rules.FlagLeftOnKCM.Check)
}

func (m *migration) leaseGrantMissing() []transform.Finding {
	if m.bundle().Grants() {
		return nil
	}
	return m.eachManager(rules.LeaseGrantMissing.Check)
}

// eachManager checks kube-controller-manager on every class of control planes, by its
// arguments and its provider.
func (m *migration) eachManager(check func(list []args.Placed, provider string) []transform.Finding) []transform.Finding {
	var found []transform.Finding
	for _, class := range m.Classes {
		config := m.Effective(class)
		if !class.ControlPlane() {
			continue
		}
		for _, f := range check(args.Place(config[managerArgs].Origin), config.provider(managerArgs)) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found
}

// apiServerFlagRemoved finds the flags in any spelling and with any value.
func (m *migration) apiServerFlagRemoved() []transform.Finding {
	var found []transform.Finding
	for _, at := range m.winners(apiServerArgs, Class.ControlPlane) {
		for _, a := range args.Place(at) {
			if slices.Contains(m.removedFlags(apiServerArgs), a.Name) {
				found = append(found, transform.FindingAt(a.Node, "kube-apiserver "+semver.MajorMinor(m.move().Reached())+" has no flag --"+a.Name+" and does not start", "apply "+stages.SwitchToExternal+", which removes it; or remove the argument"))
			}
		}
	}
	return found
}
