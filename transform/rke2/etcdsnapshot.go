// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import "github.com/rke-lm/rke-lm/transform/yamledit"

const snapshotKey = "etcdSnapshotCreate"

// askForSnapshot returns the object of an RKE2 cluster that asks for one more
// snapshot of etcd, and the number of it.
func askForSnapshot(doc *yamledit.Document) (*yamledit.Document, int64, error) {
	config := doc.Root().Get("spec", "rkeConfig")
	at := config.Get(snapshotKey, "generation")
	last, is := at.Value().(float64)
	if !is && at.Value() != nil {
		return nil, 0, at.Errorf("the number of the last snapshot is no number", "correct it")
	}
	e, next := doc.Edit(), int64(last)+1
	e.Put(config, int(next), snapshotKey, "generation")
	after, _, err := e.Apply()
	return after, next, err
}
