// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import "github.com/rke-lm/rke-lm/transform/yamledit"

const snapshotKey = "etcdSnapshotCreate"

// askForSnapshot returns the object of an RKE2 cluster that asks for one more
// snapshot of etcd, and the number of it.
func askForSnapshot(doc *yamledit.Document) (*yamledit.Document, int64, error) {
	config := doc.Root().Get("spec", "rkeConfig")
	last, err := snapshotNumber(config.Get(snapshotKey, "generation"))
	if err != nil {
		return nil, 0, err
	}
	e, next := doc.Edit(), last+1
	e.Put(config, int(next), snapshotKey, "generation")
	after, _, err := e.Apply()
	return after, next, err
}

func snapshotNumber(at yamledit.Node) (int64, error) {
	if !at.Exists() || at.IsNull() {
		return 0, nil
	}
	n, is := at.Value().(float64)
	if !is {
		return 0, at.Errorf("the number of the last snapshot is no number", "correct it")
	}
	return int64(n), nil
}
