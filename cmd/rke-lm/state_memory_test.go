// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
)

func TestOnlyTheTextOfClustersIsKeptForTheSummary(t *testing.T) {
	docs := fleetDocuments(t)[:2]
	w := newWorked(clusters.Cluster{Docs: docs[:1], Related: docs}, transform.Target{}, docs[1:], nil)
	if w.of.Docs != nil || w.of.Related != nil {
		t.Error("documents are kept")
	}
	if string(w.before[0].Bytes) != string(docs[0].Bytes()) || string(w.after[0].Bytes) != string(docs[1].Bytes()) {
		t.Error("the texts are others")
	}
}

func TestNoClusterOfALongStreamIsKeptForTheSummary(t *testing.T) {
	s := &states{}
	for range mostSummed {
		s.take(worked{})
	}
	if len(s.open) != mostSummed {
		t.Fatalf("%d of %d are kept", len(s.open), mostSummed)
	}
	s.take(worked{}) // the stream did not end
	if s.open != nil || s.ended != nil {
		t.Errorf("%d and %d are kept", len(s.open), len(s.ended))
	}
	if s.know(nil, false); s.looked != mostSummed+1 || s.ended != nil {
		t.Errorf("%d were counted, %d are kept", s.looked, len(s.ended))
	}
}
