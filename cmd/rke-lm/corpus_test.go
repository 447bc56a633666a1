// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// fewestGraftedClusters is how many clusters of a corpus must be planned once
// they are on AWS. All variants of one cluster count once.
const fewestGraftedClusters = 15

var corpusTarget = transform.Target{EndState: transform.EndStateExternal}

func TestCorpusKeepsEveryByteWithoutAnEdit(t *testing.T) {
	files, documents, empty := corpusFiles(t), 0, 0
	var refused refusals
	for _, f := range files {
		chunks := yamledit.Split(f.name, f.text)
		chunksMakeUp(t, f, chunks)
		for _, c := range chunks {
			documents++
			doc, err := transform.Parse(c)
			if err != nil {
				refused.add(err, "document")
				continue
			}
			if !doc.Root().Exists() {
				empty++
			}
			isKeptWithoutAnEdit(t, doc, c)
		}
	}
	t.Logf("%d files, %d documents: %d read and returned byte for byte (%d of them empty), %d refused",
		len(files), documents, documents-refused.count(), empty, refused.count())
	t.Logf("documents refused:\n%s", refused.report())
}

// chunksMakeUp requires that the chunks are the stream and know their places.
func chunksMakeUp(t *testing.T, f corpusFile, chunks []yamledit.Chunk) {
	t.Helper()
	var joined []byte
	for i, c := range chunks {
		if c.Index != i || c.Offset != len(joined) || c.Line != bytes.Count(joined, []byte("\n")) {
			t.Errorf("%s: document %d says that it is number %d, at byte %d, behind line %d", f.name, i, c.Index, c.Offset, c.Line)
		}
		joined = append(joined, c.Bytes...)
	}
	if !bytes.Equal(joined, f.text) {
		t.Errorf("%s: its documents, joined, are not the file", f.name)
	}
}

// isKeptWithoutAnEdit requires that neither reading nor an edit of nothing
// changes a byte.
func isKeptWithoutAnEdit(t *testing.T, doc *yamledit.Document, c yamledit.Chunk) {
	t.Helper()
	if !bytes.Equal(doc.Bytes(), c.Bytes) {
		t.Errorf("%s: document %d changes when it is read", c.File, c.Index)
	}
	after, splices, err := doc.Edit().Apply()
	switch {
	case err != nil:
		t.Errorf("%s: document %d cannot be left alone: %v", c.File, c.Index, err)
	case len(splices) > 0 || !bytes.Equal(after.Bytes(), c.Bytes):
		t.Errorf("%s: document %d changes though nothing is queued", c.File, c.Index)
	}
}

func TestCorpusClustersAsTheyAre(t *testing.T) {
	found, run := readClusters(t), propertyRun{t: t}
	for _, doc := range found.clusters {
		run.plan(doc, "cluster")
	}
	t.Logf("real: %d clusters, %d fragments, %d documents refused on reading", len(found.clusters), len(found.fragments), found.refused.count())
	t.Logf("refused on reading:\n%s", found.refused.report())
	t.Logf("refused as fragment:\n%s", found.listFragments())
	t.Logf("real clusters planned: %d of %d; %s", run.planned, run.tried, run.edits())
	t.Logf("real clusters refused:\n%s", run.refused.report())
	if run.mistakes > 0 {
		t.Errorf("%d clusters are refused because an edit went wrong", run.mistakes)
	}
}

func TestCorpusFragmentsAreNotPlanned(t *testing.T) {
	for _, doc := range readClusters(t).fragments {
		if rke2.Distro().Owns(doc) {
			t.Errorf("%s is taken for a cluster", placeOf(doc))
		}
		if _, err := transform.Build(rke2.Distro(), doc, corpusTarget); err == nil {
			t.Errorf("%s is planned", placeOf(doc))
		}
	}
}

// sampled is the share of the variants that is planned, another one of every
// cluster: all of them with all eight stages take longer than anyone waits.
const sampled = 9

func TestCorpusClustersGraftedOntoAWS(t *testing.T) {
	clusters, grafted := readClusters(t).clusters, 0
	run := propertyRun{t: t}
	var ungraftable refusals
	for turn, doc := range clusters {
		before, i := run.planned, turn
		for v, err := range variantsOf(doc) {
			if err != nil {
				ungraftable.add(err, v.name)
				continue
			}
			if i++; i%sampled == 0 {
				run.plan(v.doc, v.name)
			}
		}
		if run.planned > before {
			grafted++
		}
	}
	t.Logf("grafted onto AWS: %d clusters of %d; variants planned: %d of %d; %s", grafted, len(clusters), run.planned, run.tried, run.edits())
	t.Logf("variants refused:\n%s", run.refused.report())
	t.Logf("grafts that yamledit refused:\n%s", ungraftable.report())
	if run.mistakes > 0 {
		t.Errorf("%d variants are refused because an edit went wrong", run.mistakes)
	}
	if grafted < fewestGraftedClusters {
		t.Errorf("%d clusters can be planned on AWS, fewer than %d", grafted, fewestGraftedClusters)
	}
}
