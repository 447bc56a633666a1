// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// switchUndo makes the provider in-tree again and gives the manager its flag in
// the same edit: without the flag both managers would run the cloud controllers.
// The text of customCloudProvider stays, which RKE takes for aws as well.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	name, back, err := m.get(providerKey, nameKey), *m, error(nil)
	back.target, err = m.stages().Undone(e, name)
	e.Fail(err)
	m.checkRollback(e)
	if text, _ := name.String(); text != externalName {
		e.Fail(transform.Lost(m.Config, "the provider is external only in the arguments of components, so it was changed in another way"))
	}
	e.Set(name, inTree)
	m.metadataBack(e)
	m.componentsBack(e)
	if !m.target.NoLeaderMigration {
		back.setFlag(e.Edit)
	}
}

// checkRollback refuses where there is none, or where the document does not hold
// what is needed for it.
func (m *migration) checkRollback(e *transform.Reverse) {
	e.Fail(k8s.CheckRollback(m.Version, m.get(versionKey)))
	if m.target.Version == m.Version {
		e.Usual(m.get(versionKey), "the release before the switch was this one or an older one")
	}
	if own := m.get(providerKey, customKey); own.Exists() {
		e.Usual(own, "this text existed before or came from a block "+awsKey)
	}
	if !m.target.NoLeaderMigration {
		e.Fail(m.bundle().CheckGranted())
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
