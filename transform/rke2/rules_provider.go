// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/ruleset"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// eachWinner calls judge for every location that wins a key.
func (m *migration) eachWinner(key string, judge func(yamledit.Node) (message, fix string)) []transform.Finding {
	return eachOf(m.winners(key, func(Class) bool { return true }), judge)
}

func eachOf(nodes []yamledit.Node, judge func(yamledit.Node) (message, fix string)) []transform.Finding {
	var found []transform.Finding
	for _, n := range nodes {
		if message, fix := judge(n); message != "" {
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

// inTreeGone judges the release that the cluster runs or is about to move to.
// The switch moves it in the same edit, so the stages before do not answer for
// the target.
func (m *migration) inTreeGone() []transform.Finding {
	version := m.Version
	if m.stage == "" {
		version = m.move().Reached()
	}
	if !k8s.From(version, "v1.27") {
		return nil
	}
	return eachOf(m.inTreeNodes(), func(yamledit.Node) (string, string) {
		return ruleset.SaidOfInTreeGone.Message, ruleset.SaidOfInTreeGone.Fix
	})
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

// renamesNodes lists the first release of each minor in which aws no longer
// names the nodes (rancher/rke2 #7336); later minors never do.
var renamesNodes = map[string]string{"v1.29": "v1.29.11", "v1.30": "v1.30.7", "v1.31": "v1.31.3"}

func (m *migration) namesNodes() bool {
	first, listed := renamesNodes[m.minor()]
	return semver.Compare(m.minor(), "v1.31") <= 0 && (!listed || semver.Compare(m.Version, first) < 0)
}

// nodeRename is an error of the switch. A document that is still in-tree is
// warned of it; one that is external already says nothing about the past.
func (m *migration) nodeRename() []transform.Finding {
	if m.target.EndState != "" || m.isOverridden() || !m.namesNodes() {
		return nil
	}
	found := m.eachWinner(providerKey, func(n yamledit.Node) (string, string) {
		if s, _ := n.String(); s == external && m.stage == "" || s != external && s != inTree {
			return "", ""
		}
		return "with aws RKE2 " + m.minor() + " also takes the node's name from the instance metadata; with external the kubelet takes the host name, and a node whose name changes registers anew, where the cloud-controller-manager cannot resolve it",
			"make sure that every node's name equals its host name, then choose --end-state external; or choose aws-override"
	})
	if m.stage == "" {
		for i := range found {
			found[i].Severity = transform.Warning
		}
	}
	return found
}

// stubEnabled judges control planes: up to 1.35 the provider's name also turns
// the stub off, from 1.36 on only the key does.
func (m *migration) stubEnabled() []transform.Finding {
	var nodes []yamledit.Node
	for _, class := range m.Classes {
		config := m.Effective(class)
		if !class.ControlPlane() || config.provider(managerArgs) != external || truthy(config[disableStub].Value) {
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
	return eachOf(nodes, func(yamledit.Node) (string, string) {
		return "the provider is external, but nothing turns RKE2's own stub cloud controller off", "set " + disableStub + ": true for the same machines"
	})
}

// providerOrigin returns what decides on the provider of a component.
func (c Config) providerOrigin(component string) yamledit.Node {
	for _, a := range slices.Backward(args.Place(c[component].Origin)) {
		if a.Name == componentFlag {
			return a.Node
		}
	}
	return c[providerKey].Origin
}

// providerRemoved finds clusters that show a migration and have no provider.
// One whose components are all external by their own arguments, with the stub
// turned off, needs no name.
func (m *migration) providerRemoved() []transform.Finding {
	for _, class := range m.Classes {
		config := m.Effective(class)
		if name, _ := config[providerKey].Value.(string); !class.ControlPlane() || name != "" || !m.showsMigration(config) {
			continue
		}
		if truthy(config[disableStub].Value) && config.provider(managerArgs) == external && config.provider(kubeletArgs) == external {
			continue
		}
		at := m.RKEConfig()
		if all := m.Candidates(class, providerKey); len(all) > 0 {
			at = all[len(all)-1]
		} else if global := at.Get("machineGlobalConfig"); global.Exists() {
			at = global
		}
		return []transform.Finding{transform.FindingAt(at,
			"no "+providerKey+" reaches the machines of class "+class.Name+": RKE2 starts its stub cloud controller, which gives nodes the provider ID rke2://",
			"set "+providerKey+": external and "+disableStub+": true")}
	}
	return nil
}

// showsMigration reports whether a control plane's configuration, or the
// manifest, has what only a migration to the external provider leaves behind.
func (m *migration) showsMigration(config Config) bool {
	_, flag := args.Last(args.Of(config[managerArgs].Value), leaderFlag)
	_, chart, _ := m.chart()
	return flag || chart || m.hasWorkload() || slices.ContainsFunc(componentArgs, func(key string) bool { return config.provider(key) == external })
}

func (m *migration) flagLeftOnManager() []transform.Finding {
	var nodes []yamledit.Node
	for _, class := range m.Classes {
		config := m.Effective(class)
		if !class.ControlPlane() || config.provider(managerArgs) != external {
			continue
		}
		for _, a := range args.Place(config[managerArgs].Origin) {
			if a.Name == leaderFlag && a.True() && !slices.ContainsFunc(nodes, a.Node.Same) {
				nodes = append(nodes, a.Node)
			}
		}
	}
	return eachOf(nodes, func(yamledit.Node) (string, string) {
		return ruleset.SaidOfFlagLeft.Message, ruleset.SaidOfFlagLeft.Fix
	})
}

// apiServerFlagRemoved finds the flag in any spelling and with any value.
func (m *migration) apiServerFlagRemoved() []transform.Finding {
	if !k8s.From(m.move().Reached(), "v1.33") {
		return nil
	}
	var found []transform.Finding
	for _, at := range m.winners(apiServerArgs, Class.ControlPlane) {
		for _, a := range args.Place(at) {
			if a.Name == componentFlag {
				found = append(found, transform.FindingAt(a.Node, "kube-apiserver "+semver.MajorMinor(m.move().Reached())+" has no flag --"+componentFlag+" and does not start", "remove the argument"))
			}
		}
	}
	return found
}
