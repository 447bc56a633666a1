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
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// anyClass is every one.
func anyClass(effective.Class) bool { return true }

func (m *migration) providerInSelector(found *transform.Findings) {
	for _, n := range m.Winners(providerKey, anyClass) {
		if s, _ := n.String(); (s == inTree || s == external) && !n.Same(m.Layers[0].Get(providerKey)) {
			found.At(n, "the provider is set here, not in machineGlobalConfig", "nothing: the switch edits this location")
		}
	}
}

// inTreeGone checks what makes components in-tree; on late releases the provider's
// name only names nodes.
func (m *migration) inTreeGone(found *transform.Findings) {
	if !rules.IsInTreeGone(m.move(), m.stage) {
		if len(m.inTreeNodes()) > 0 {
			for _, at := range append(m.Winners("kube-controller-manager-image", anyClass), m.Winners("runtime-image", anyClass)...) {
				rules.FindInTreeImage(at, found)
			}
		}
		return
	}
	for _, n := range m.inTreeNodes() {
		if n.Key() == providerKey && m.onlyNamesNodes() {
			found.At(n, "RKE2 "+m.Version+" reads the node's name from the instance metadata here, and passes a cloud provider to no component: the cluster has no cloud controllers",
				"apply the stages that rke-lm plan shows for this release: they install a cloud-controller-manager and keep the names of nodes; see docs/past-1.26.md")
		} else {
			rules.FindInTreeProvider(n, m.move(), found)
		}
	}
}

// inTreeNodes returns what makes a component of any machine in-tree: the
// provider's name, or an argument of the component.
func (m *migration) inTreeNodes() []yamledit.Node {
	var nodes []yamledit.Node
	for _, class := range m.Kinds {
		config := m.Effective(class)
		for _, key := range componentArgs {
			if class.Runs(key) && m.knowsProvider(key) && config.Provider(key) == inTree {
				nodes = append(nodes, config.ProviderOrigin(key))
			}
		}
	}
	return yamledit.Distinct(nodes)
}

// providerMixed compares the components of all machines.
func (m *migration) providerMixed(found *transform.Findings) {
	var list []rules.Provided
	for _, key := range componentArgs {
		of := lists.Map(m.Kinds, func(class effective.Class) rules.Provided {
			return rules.Provided{Provider: m.Effective(class).Provider(key), At: m.Effective(class).ProviderOrigin(key)}
		})
		for _, class := range m.Classes {
			if one := of[class.Kind()]; class.Runs(key) {
				one.What = strings.TrimSuffix(key, "-arg") + " on " + class.Name
				list = append(list, one)
			}
		}
	}
	rules.Mixed(list, m.Version, found)
}

// stubEnabled checks control planes. Up to 1.35 any cloud-provider-name also turns
// the stub off, from 1.36 on only the key does (rancher/rke2,
// pkg/rke2/rke2_linux.go at v1.34.1 and v1.36.0).
func (m *migration) stubEnabled(found *transform.Findings) {
	stops := m.nameStopsStub()
	if m.stage == stages.InstallCCM && stops {
		return // it does not run, and the switch writes the key
	}
	var nodes []yamledit.Node
	for _, class := range m.ControlPlanes {
		if config := m.Effective(class); m.wantsNoStub(config, stops) && !truthy(config[disableStub].Value) {
			nodes = append(nodes, yamledit.First(config[disableStub].Origin, config.ProviderOrigin(managerArgs)))
		}
	}
	const fix = "set " + disableStub + ": true for the same machines"
	for _, n := range yamledit.Distinct(nodes) {
		if stops {
			found.At(n, "only "+providerKey+" disables RKE2's own stub cloud controller here; from RKE2 1.36 on it does not", fix).Severity = transform.Warning
		} else {
			found.At(n, "RKE2's own stub cloud controller is not disabled, and gives nodes the provider ID rke2://", fix)
		}
	}
}

// wantsNoStub reports whether RKE2's stub would meet another owner of the nodes:
// an external provider, or none where aws only names the nodes.
func (m *migration) wantsNoStub(config effective.Config, stopped bool) bool {
	provider := config.Provider(managerArgs)
	return provider == external || provider == inTree && m.onlyNamesNodes() && !stopped
}

// nameStopsStub reports whether the provider's name turns the stub off for every
// control plane.
func (m *migration) nameStopsStub() bool {
	return !k8s.From(m.move().Reached(), "v1.36") && !m.anyControlPlane(func(c effective.Config) bool { return c.Text(providerKey) == "" })
}

// providerRemoved finds clusters that show a migration and have no provider, and
// warns of a name that is set to nothing: Rancher's interface writes that where a
// provider is taken away, and also where there never was one. A cluster whose
// components are all external by their own arguments, with the stub turned off,
// needs no name.
func (m *migration) providerRemoved(found *transform.Findings) {
	for _, class := range m.ControlPlanes {
		config, won := m.Effective(class), m.Winner(class, providerKey)
		shows := m.showsMigration(config)
		needsNone := truthy(config[disableStub].Value) && config.Provider(managerArgs) == external && config.Provider(kubeletArgs) == external
		if config.Text(providerKey) != "" || needsNone || !shows && !won.Exists() {
			continue
		}
		at := yamledit.First(won, m.RKEConfig().Get("machineGlobalConfig"), m.RKEConfig())
		message := "no " + providerKey + " reaches the machines of class " + class.Name + ": RKE2 starts its stub cloud controller, which gives nodes the provider ID rke2://"
		if shows {
			found.At(at, message, "set "+providerKey+": external and "+disableStub+": true")
		} else {
			found.At(at, message+", and a node with a name from the instance metadata registers as a new Node",
				"nothing, if the cluster never had a provider; if it runs on AWS, write "+inTree+" or "+external+" here").Severity = transform.Warning
		}
		return
	}
}

// showsMigration reports whether a control plane's configuration, or the
// manifest, has what only a migration to the external provider leaves.
func (m *migration) showsMigration(config effective.Config) bool {
	return args.Has(args.Of(config[managerArgs].Value), leaderFlag) || m.Manager().Exists() || slices.ContainsFunc(componentArgs, func(key string) bool { return config.Provider(key) == external })
}

func (m *migration) apiServerFlagRemoved(found *transform.Findings) {
	for _, a := range m.removedArgs() {
		found.At(a.Node(), "kube-apiserver "+semver.MajorMinor(m.move().Reached())+" has no flag --"+a.Name+" and does not start", "apply "+stages.SwitchToExternal+", which removes it; or remove the argument")
	}
}
