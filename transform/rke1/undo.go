// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// switchUndo makes the provider in-tree again and gives the manager its flag in
// the same edit: without the flag both managers would run the cloud controllers.
// The text of customCloudProvider stays, which RKE takes for aws as well.
func (m *migration) switchUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if !m.isExternal() {
		return e, nil
	}
	if err := m.checkWayBack(); err != nil {
		return nil, err
	}
	name := m.get(providerKey, nameKey)
	if text, _ := name.String(); text != externalName {
		return nil, transform.Lost(m.Config, "the provider is external only in the arguments of components, so it was changed by other means")
	}
	e.Set(name, inTree)
	if err := m.metadataBack(e); err != nil {
		return nil, err
	}
	if err := m.componentsBack(e); err != nil {
		return nil, err
	}
	if !m.target.NoLeaderMigration {
		m.setFlag(e)
	}
	return e, nil
}

// checkWayBack refuses where there is none, or where the document does not hold
// what is needed for it.
func (m *migration) checkWayBack() error {
	usual := inlinemanifest.UsualOf(m.target)
	if err := k8s.WayBack(m.Version, m.get(versionKey)); err != nil {
		return err
	}
	if m.target.Version == m.Version {
		if err := usual(m.get(versionKey), "the release before the switch was this one or an older one"); err != nil {
			return err
		}
	}
	if own := m.get(providerKey, customKey); own.Exists() {
		if err := usual(own, "this text existed before or came from a block "+awsKey); err != nil {
			return err
		}
	}
	if m.target.NoLeaderMigration {
		return nil
	}
	return m.bundle().CheckGranted()
}

// metadataBack takes away what the switch writes of the names of nodes. Without a
// name of their own, the usual form is that nothing was said.
func (m *migration) metadataBack(e *yamledit.Edit) error {
	on := m.get(providerKey, metadataKey)
	if !m.usesMetadata() || m.ownNames() || !metadataSupported(m.Version) {
		return nil
	}
	e.Remove(on)
	return inlinemanifest.UsualOf(m.target)(on, "it was absent, false, or already true before")
}

// componentsBack makes those in-tree again that name the provider themselves.
func (m *migration) componentsBack(e *yamledit.Edit) error {
	for _, service := range components {
		for _, at := range m.places(service) {
			a, set := args.LastPlaced(args.OfMap(at), componentFlag)
			if !set || a.Value != external {
				continue
			}
			args.Update{Set: []args.Arg{args.With(componentFlag, inTree)}}.ApplyMap(e, at)
			if err := inlinemanifest.UsualOf(m.target)(a.Node, "it was aws or already external before"); err != nil {
				return err
			}
		}
	}
	return nil
}
