// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// oneOfEach is a number of clusters that has all kinds of them at all versions.
const oneOfEach = 80

func fleetDocuments(tb testing.TB) (docs []*yamledit.Document) {
	tb.Helper()
	for _, c := range yamledit.Split("fleet.yaml", []byte(fleet.Stream(oneOfEach))) {
		d := assert.Value(transform.Parse(c))(tb)
		docs = append(docs, d)
	}
	return docs
}

// perDocument benchmarks what is done to each document of the fleet.
func perDocument(b *testing.B, do func(*yamledit.Document) error) {
	docs := fleetDocuments(b)
	all := func() {
		for _, d := range docs {
			assert.NilError(b, do(d))
		}
	}
	all() // fills what is kept between documents
	b.SetBytes(int64(len([]byte(fleet.Stream(oneOfEach)))))
	b.ReportAllocs()
	for b.Loop() {
		all()
	}
}

// BenchmarkKyaml is what all others are compared with.
func BenchmarkKyaml(b *testing.B) {
	perDocument(b, func(d *yamledit.Document) error {
		_, err := yaml.Parse(string(d.Bytes()))
		return err
	})
}

func BenchmarkParse(b *testing.B) {
	perDocument(b, func(d *yamledit.Document) error {
		_, err := transform.Parse(d.Chunk())
		return err
	})
}

func BenchmarkOpen(b *testing.B) {
	perDocument(b, func(d *yamledit.Document) error {
		_, err := rke2.Format().Open(transform.Only(d), transform.Target{})
		return err
	})
}

func BenchmarkBuild(b *testing.B) {
	perDocument(b, func(d *yamledit.Document) error {
		_, err := plan.Build(rke2.Format(), transform.Only(d), transform.Target{})
		return err
	})
}

// BenchmarkShow is what plan does apart from Build: diffs without secrets.
func BenchmarkShow(b *testing.B) {
	plans := map[*yamledit.Document]*plan.Plan{}
	show := func(d *yamledit.Document) (err error) {
		if plans[d] == nil { // in the first round, which is not counted
			plans[d], err = plan.Build(rke2.Format(), transform.Only(d), transform.Target{})
		}
		if err == nil {
			report.NewCollector(&report.Output{Out: io.Discard}, nil).WritePlan(report.NewPlan(plans[d], ""), "", true)
		}
		return err
	}
	perDocument(b, show)
}

// BenchmarkRun runs whole command lines over one stream.
func BenchmarkRun(b *testing.B) {
	stream := []byte(fleet.Stream(oneOfEach))
	for _, line := range []string{
		"apply --stdout --stage grant-migration-lease -",
		"apply --stdout --stage disable-leader-migration --through -",
		"plan -",
		"explain -",
	} {
		b.Run(line, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				var errs bytes.Buffer
				code := execute(context.Background(), strings.Fields(line), streams{in: bytes.NewReader(stream), out: io.Discard, err: &errs})
				assert.Must(b, code == exitcode.Done, code, errs.String())
			}
		})
	}
}
