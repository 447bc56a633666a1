// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// switchToExternal makes the provider external, removes the block that would turn
// it back, and takes the flag off the manager in the same edit: an external
// manager with the flag holds the lease and runs nothing.
func (m *migration) switchToExternal() transform.Stage {
	why, noGap := m.switchWhy()
	return m.Switch(transform.Stage{
		NoGap:       noGap,
		AfterManual: lists.If(m.hidesManager(), rules.TheChart...),
		Why: why +
			"A block awsCloudProvider would turn the provider back to aws, so its settings become the text of customCloudProvider." + m.metadataWhy() + m.move().Why(),
		Prepare: m.credentials(),
		Change:  transform.ChangeOf(m.Doc, m.Target, m.switchEdit, m.checkSwitch, m.switchUndo),
		After:   []action.Action{m.taken()},
		Caution: m.move().Caution(),

		UndoAfter: []action.Action{m.taken()},
	})
}

func (m *migration) credentials() action.Preparation {
	set := slices.ContainsFunc(m.places(kubelet), func(at yamledit.Node) bool {
		return args.Has(args.OfMap(at), "image-credential-provider-config")
	})
	return stages.Credentials(m.move(), set, aws.OfKubernetes)
}

// switchWhy states what the switch repairs in a file that RKE refuses.
func (m *migration) switchWhy() (why string, noGap bool) {
	if m.Target.Situation == transform.Broken {
		return brokenWhy, false
	}
	made := !slices.ContainsFunc(components, func(service string) bool { return m.component(service) != external })
	why, noGap = m.SwitchWhy(made, transform.EditOf(m.Doc, m.switchEdit))
	return why, noGap && !args.Enables(m.argsOf(manager), leaderFlag)
}

// RKE refuses the file before it changes a machine (rancher/rke, cluster/defaults.go at v1.8.14).
const brokenWhy = "RKE refuses the provider aws from Kubernetes 1.27 on, before it changes anything, so the cluster still runs its earlier release with the in-tree provider. " +
	"If that is 1.26 or earlier, it is better to set that release in the file again, and to migrate before the upgrade. " +
	"With this stage RKE upgrades the cluster and makes it external in one run: a control plane runs the in-tree cloud controllers until its turn comes. So the cloud-controller-manager is installed afterwards, and in between no manager runs the cloud controllers. "

// hidesManager reports whether the cloud-controller-manager comes first and no file shows whether
// it runs: helm installs its chart, also with the operator's values. A cluster that is external
// already needs no more order.
func (m *migration) hidesManager() bool {
	return !m.isExternal() && !m.runsManager() && m.Target.Situation != transform.Broken
}

func (m *migration) metadataWhy() string {
	if !m.wantsMetadata() {
		return ""
	}
	why := " From then on kubelets read their names from the instance metadata, so that nodes keep their names from EC2."
	if len(m.Read.Nodes) == 0 {
		why += " Machines that were registered with their own --node-name would lose it: for those, --accept " + ruleMetadataUnset + " omits it."
	}
	return why
}

func (m *migration) switchEdit(e *yamledit.Edit) {
	m.upgradeEdit(e)
	m.switchProvider(e)
	for _, at := range lists.Flat(components, m.places) {
		if args.Value(args.OfMap(at), componentFlag) == inTree {
			args.Update{Set: []args.Arg{args.With(componentFlag, external)}}.ApplyMap(e, at)
		}
	}
	m.removeFlags(e, m.leaving())
}

// switchProvider edits cloud_provider: the name, where the names of nodes come
// from, and the block of settings.
func (m *migration) switchProvider(e *yamledit.Edit) {
	if provider := m.get(providerKey); provider.StringAt(nameKey) != externalName {
		e.Put(provider, externalName, nameKey)
	}
	if m.wantsMetadata() {
		m.putProvider(e, metadataKey, true)
	}
	m.removeBlock(e)
}

// removeBlock takes the block of settings out and keeps them as the text that RKE
// takes for any provider.
func (m *migration) removeBlock(e *yamledit.Edit) {
	block := m.get(providerKey, awsKey)
	if !block.Exists() {
		return
	}
	e.Remove(block)
	config := strings.TrimSuffix(m.cloudConfig(), "\n")
	if config != "" && m.Read.CloudProvider.CustomCloudProvider == "" {
		m.putProvider(e, customKey, config)
	}
}

// putProvider sets a key of cloud_provider, or adds it after the name.
func (m *migration) putProvider(e *yamledit.Edit, key string, v any) {
	provider := m.get(providerKey)
	if name := provider.Get(nameKey); name.Exists() && !provider.Get(key).Exists() {
		e.InsertAfter(name, key, v)
		return
	}
	e.Put(provider, v, key)
}

// checkSwitch requires that the provider is external for every component, that the
// flag is gone, and that nothing else changed.
func (m *migration) checkSwitch(after *migration) error {
	service, stays := lists.Find(components, func(service string) bool { return after.component(service) == inTree })
	flag, kept := lists.Find(after.leaving(), func(name string) bool { return args.Has(after.argsOf(manager), name) })
	return cmp.Or(m.check(after, m.switched),
		transform.Require(after.provider() == externalName, "the provider would not be %s", externalName),
		transform.Require(!stays, "%s would keep the provider %s", service, inTree),
		transform.Require(!kept, "kube-controller-manager would keep %s", flag),
		transform.Require(strings.TrimSpace(m.cloudConfig()) == strings.TrimSpace(after.cloudConfig()), "the provider's configuration would not be kept"))
}

// switched is the promise of the stage.
func (m *migration) switched(path string, before, now any) bool {
	switch {
	case path == "cloudProvider.name":
		return now == externalName && (before == inTree || before == nil)
	case path == "cloudProvider."+metadataKey:
		return now == true && m.wantsMetadata()
	case strings.HasPrefix(path, "cloudProvider."+awsKey):
		return now == nil
	case path == "cloudProvider."+customKey:
		return before == nil && now != nil
	case path == "kubernetesVersion":
		return m.move().Planned() && now == m.move().To
	}
	flag := strings.TrimPrefix(strings.TrimPrefix(path, argsPath), arrayPath)
	return now == nil && slices.Contains(m.leaving(), flag) || isComponentPath(path) && isSwitched(before, now)
}

// componentPaths are where services carry a provider of their own, in what RKE
// reads.
var componentPaths = []string{"services.kubeApi.", "services.kubeController.", "services.kubelet."}

func isComponentPath(path string) bool {
	return strings.HasSuffix(path, "."+componentFlag) && slices.ContainsFunc(componentPaths, func(p string) bool { return strings.HasPrefix(path, p) })
}

// isSwitched allows aws to become external, as a string or as a list.
func isSwitched(before, now any) bool {
	text := func(v any) string { return strings.Trim(fmt.Sprint(v), "[]") }
	return strings.HasSuffix(text(before), inTree) && text(now) == external
}

// switchUndo makes the provider in-tree again and gives the manager its flag in
// the same edit: without the flag both managers would run the cloud controllers.
// The text of customCloudProvider stays, which RKE takes for aws as well.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	name, back, err := m.get(providerKey, nameKey), *m, error(nil)
	back.Target, err = m.Undone(e, name)
	e.Fail(err)
	m.checkRollback(e)
	if text := name.StringAt(); text != externalName {
		e.Fail(transform.Lost(m.Config, "the provider is external only in the arguments of components, so it was changed in another way"))
	}
	e.Set(name, inTree)
	m.metadataBack(e)
	m.componentsBack(e)
	if !m.Target.NoLeaderMigration {
		back.setFlag(e.Edit)
	}
}

// checkRollback refuses where there is none, or where the document does not hold
// what is needed for it.
func (m *migration) checkRollback(e *transform.Reverse) {
	e.Fail(k8s.CheckRollback(m.Version, m.get(versionKey)))
	if m.Target.Version == m.Version {
		e.Usual(m.get(versionKey), "the release before the switch was this one or an older one")
	}
	if own := m.get(providerKey, customKey); own.Exists() {
		e.Usual(own, "this text existed before or came from a block "+awsKey)
	}
	if !m.Target.NoLeaderMigration {
		e.Fail(m.Bundle().CheckGranted())
	}
}

// metadataBack takes away what the switch writes of the names of nodes. Without a
// name of their own, the usual form is that nothing was said.
func (m *migration) metadataBack(e *transform.Reverse) {
	if on := m.get(providerKey, metadataKey); m.usesMetadata() && !m.ownNames() && metadataSupported(m.Version) {
		e.Remove(on)
		e.Usual(on, "it was absent, false, or already true before")
	}
}

// componentsBack makes those in-tree again that name the provider themselves.
func (m *migration) componentsBack(e *transform.Reverse) {
	for _, at := range lists.Flat(components, m.places) {
		if a, _ := args.Last(args.OfMap(at), componentFlag); a.Value == external {
			args.Update{Set: []args.Arg{args.With(componentFlag, inTree)}}.ApplyMap(e.Edit, at)
			e.Usual(a.Node(), "it was aws or already external before")
		}
	}
}
