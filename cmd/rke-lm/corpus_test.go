// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

var corpusKinds = map[string]corpusKind{"rke2": rke2Kind, "rke1": rke1Kind, "manifest": manifestKind}

func TestCorpusAsItIs(t *testing.T) {
	for name, kind := range corpusKinds {
		t.Run(name, func(t *testing.T) {
			found, run := kind.read(t), newCorpusRun(t, kind)
			for _, doc := range found.clusters {
				assert.Truef(t, kind.format.Words.In(doc.Bytes()), "%s is a cluster, and a search would pass over it", placeOf(doc))
				for _, c := range slices.Concat(kind.turns...) {
					if c.release == "" {
						run.plan(doc, "as it is", c)
					}
				}
			}
			for _, doc := range found.parts {
				if kind.graftParts {
					continue
				}
				_, err := kind.planned(doc, kind.turns[0][0])
				assert.Truef(t, err != nil, "%s is planned, and a part of a cluster", placeOf(doc))
			}
			t.Logf("real: %d clusters, %d parts of one, %d documents refused on reading:\n%s", len(found.clusters), len(found.parts), found.refused.count(), found.refused.report())
			run.report("real clusters")
		})
	}
}

// TestCorpusGraftedOntoAWS plans variants of each document: as most would, and under other choices in turn.
func TestCorpusGraftedOntoAWS(t *testing.T) {
	for name, kind := range corpusKinds {
		t.Run(name, func(t *testing.T) {
			found, run := kind.read(t), newCorpusRun(t, kind)
			var ungraftable refusals
			variants := 0
			all := found.clusters
			if kind.graftParts {
				all = append(all, found.parts...)
			}
			onAllCores(func(do func(func())) {
				for number, doc := range all {
					i := number
					for v, err := range kind.variantsOf(doc) {
						if err != nil {
							ungraftable.add(err, v.name)
							continue
						}
						if i++; i%kind.sampled == 0 {
							n := variants
							variants++
							do(func() { run.inTurn(v.doc, v.name, n) })
						}
					}
				}
			})
			t.Logf("grafted onto AWS: %d of %d in %d variants", len(run.documents), len(all), variants)
			run.report("variants")
			t.Logf("grafts that yamledit refused:\n%s", ungraftable.report())
			assert.Truef(t, len(run.documents) >= kind.fewest, "%d can be planned on AWS, fewer than %d", len(run.documents), kind.fewest)
			for _, s := range kind.occur {
				assert.Truef(t, run.situations[s] != 0, "%v does not occur", s)
			}
		})
	}
}

// A search must not take another format's document for one of RKE, nor complain about one.
func TestCorpusOfOthersHoldsNoRKE1(t *testing.T) {
	for _, f := range corpusFiles(t) {
		if strings.HasPrefix(f.name, "rke1/") || !strings.HasSuffix(f.name, ".yaml") {
			continue
		}
		for _, c := range yamledit.Split(f.name, f.text) {
			if doc, err := transform.Parse(c); err == nil {
				assert.Truef(t, !rke1Kind.format.Owns(doc), "%s is taken for a cluster of RKE", placeOf(doc))
			}
		}
	}
}
