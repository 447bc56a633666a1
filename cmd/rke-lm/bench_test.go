// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// oneOfEach is a number of clusters that has all kinds of them at all versions.
const oneOfEach = 80

// perDocument benchmarks what is done to each document of the fleet.
func perDocument(b *testing.B, do func(*yamledit.Document) error) {
	var docs []*yamledit.Document
	for _, c := range yamledit.Split("fleet.yaml", []byte(fleet.Stream(oneOfEach))) {
		docs = append(docs, assert.Value(transform.Parse(c))(b))
	}
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

func BenchmarkBuild(b *testing.B) {
	perDocument(b, func(d *yamledit.Document) error {
		_, err := plan.Build(rke2.Format(), transform.Only(d), transform.Target{})
		return err
	})
}
