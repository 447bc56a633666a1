// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/report"
)

// otherSecret turns each planted secret into another one, which is as long.
var otherSecret = regexp.MustCompile(`([qQ])0(\d{3}[zZ])`)

// TestNoReviewShowsASecret changes every secret of a cluster together with its next stage, so that
// both versions of each are in what changes.
func TestNoReviewShowsASecret(t *testing.T) {
	template := readSecrets(t, "everywhere")
	for k, kind := range secretKinds {
		if testing.Short() && k%6 != 0 {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			text, p := plant(t, template, kind)
			h := newHistory(t)
			h.write("cluster.yaml", text)
			h.commit("base")
			h.write("cluster.yaml", otherSecret.ReplaceAllString(text, "${1}5$2"))
			h.apply("--next", "cluster.yaml")
			if n := len(marks(textOf(t, "cluster.yaml"))); n != len(p.places) {
				t.Fatalf("%d secrets changed, %d are in the file", n, len(p.places))
			}
			for _, format := range slices.Concat([]string{"text", "json", "yaml"}, report.Formats) {
				if r := p.run(t, "", []string{"review", "--base", "HEAD", "-o", format}); len(r.stdout) < 100 && format != "github" {
					t.Errorf("-o %s says nothing: %s%s", format, r.stdout, r.stderr)
				}
			}
		})
	}
}
