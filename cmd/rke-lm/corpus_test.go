// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// fewestGraftedClusters is how many clusters of a corpus must be planned once
// they are on AWS. All variants of one cluster count once.
const fewestGraftedClusters = 15

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
			t.Errorf("%s: document %d says that it is number %d, at byte %d, after line %d", f.name, i, c.Index, c.Offset, c.Line)
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
		run.plan(doc, "cluster", plain)
		for _, c := range choices {
			run.plan(doc, "cluster", c)
		}
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
		if _, err := plan.Build(rke2.Distro(), transform.Only(doc), plain.target); err == nil {
			t.Errorf("%s is planned", placeOf(doc))
		}
	}
}

// TestCorpusClustersGraftedOntoAWS plans every variant twice: as most would, and
// under one other choice in turn.
func TestCorpusClustersGraftedOntoAWS(t *testing.T) {
	clusters, run := readClusters(t).clusters, propertyRun{t: t}
	var ungraftable refusals
	variants := 0
	jobs := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	for _, doc := range clusters {
		for v, err := range variantsOf(doc) {
			if err != nil {
				ungraftable.add(err, v.name)
				continue
			}
			other := choices[variants%len(choices)]
			variants++
			jobs <- func() { run.plan(v.doc, v.name, plain); run.plan(v.doc, v.name, other) }
		}
	}
	close(jobs)
	workers.Wait()
	t.Logf("grafted onto AWS: %d clusters of %d in %d variants; planned: %d of %d (%s); %s",
		len(run.clusters), len(clusters), variants, run.planned, run.tried, counts(run.chosen), run.edits())
	t.Logf("variants refused:\n%s", run.refused.report())
	t.Logf("grafts that yamledit refused:\n%s", ungraftable.report())
	if run.mistakes > 0 {
		t.Errorf("%d variants are refused because an edit went wrong", run.mistakes)
	}
	if len(run.clusters) < fewestGraftedClusters {
		t.Errorf("%d clusters can be planned on AWS, fewer than %d", len(run.clusters), fewestGraftedClusters)
	}
}
