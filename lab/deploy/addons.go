// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Addons are the objects of one manifest, as they were applied last.
type Addons struct {
	to    *Applier
	prune bool
	text  string
	were  map[string][]byte
}

// NewAddons returns the objects of a manifest that no one has applied yet. RKE2 prunes: it deletes what has
// left the manifest. RKE does not.
func NewAddons(to *Applier, prune bool) *Addons {
	return &Addons{to: to, prune: prune, were: map[string][]byte{}}
}

// Apply brings the cluster to a manifest of many documents.
func (a *Addons) Apply(ctx context.Context, manifest string) error {
	if manifest == a.text {
		return nil
	}
	are := map[string][]byte{}
	for _, chunk := range yamledit.Split("manifest", []byte(manifest)) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return err
		}
		if !doc.Root().IsMap() {
			continue
		}
		if err := a.to.Apply(ctx, doc.Bytes()); err != nil {
			return err
		}
		are[identity(doc.Root())] = doc.Bytes()
	}
	if err := a.drop(ctx, are); err != nil {
		return err
	}
	a.text, a.were = manifest, are
	return nil
}

// drop deletes what has left the manifest.
func (a *Addons) drop(ctx context.Context, are map[string][]byte) error {
	for name, text := range a.were {
		if _, stays := are[name]; stays || !a.prune {
			continue
		}
		if err := a.to.Delete(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func identity(o yamledit.Node) string {
	kind, _ := o.Get("kind").String()
	namespace, _ := o.Get("metadata", "namespace").String()
	name, _ := o.Get("metadata", "name").String()
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}
