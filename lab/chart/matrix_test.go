// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// sources are where values come from, by format: what rke-lm writes for a cluster
// of a minor and a version of the chart.
var sources = map[string]func(t *testing.T, minor, version string) []rendering{
	"rke1": onRKE1Clusters,
	"rke2": onRKE2Clusters,
}

// count is how many renderings came out right, and how many did not.
type count struct{ passed, failed int }

// TestValuesWorkWithThePublishedCharts renders every chart with all values of
// every format and minor, and prints the counts.
func TestValuesWorkWithThePublishedCharts(t *testing.T) {
	charts := map[string]*helmchart.Chart{}
	for _, p := range All {
		charts[p.Chart] = loaded(t, p)
	}
	var lock sync.Mutex
	counts := map[string]count{}
	t.Run("matrix", func(t *testing.T) {
		for format, source := range sources {
			for version, c := range charts {
				for minor := range tags {
					t.Run(strings.Join([]string{format, version, minor}, " "), func(t *testing.T) {
						t.Parallel()
						n := checkAll(t, c, source(t, minor, version))
						lock.Lock()
						defer lock.Unlock()
						counts[format+version+minor] = n
					})
				}
			}
		}
	})
	t.Log("\n" + table(counts))
}

// checkAll renders a chart with all of these values.
func checkAll(t *testing.T, c *helmchart.Chart, all []rendering) count {
	t.Helper()
	var n count
	for _, g := range all {
		wrong := g.check(t, c)
		if len(wrong) == 0 {
			n.passed++
			continue
		}
		n.failed++
		t.Errorf("%s:\n%s", g.name, strings.Join(wrong, "\n"))
	}
	return n
}

// table lists passed/failed counts by chart and cluster minor.
func table(counts map[string]count) string {
	minors := slices.Sorted(maps.Keys(tags))
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s%s\n", "passed/failed", strings.Join(minors, "   "))
	var all count
	for _, format := range slices.Sorted(maps.Keys(sources)) {
		for _, p := range All {
			fmt.Fprintf(&b, "%-20s", format+", chart "+p.Chart)
			for _, minor := range minors {
				n := counts[format+p.Chart+minor]
				all.passed, all.failed = all.passed+n.passed, all.failed+n.failed
				fmt.Fprintf(&b, "%-8s", fmt.Sprintf("%d/%d", n.passed, n.failed))
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "%d passed, %d failed\n", all.passed, all.failed)
	return b.String()
}

// loaded returns a chart, or skips where the module proxy cannot be reached. With
// RKE_LM_CHARTS=required that is a failure.
func loaded(t *testing.T, p Published) *helmchart.Chart {
	t.Helper()
	c, err := p.Load()
	switch {
	case err == nil:
		return c
	case os.Getenv("RKE_LM_CHARTS") == "required":
		t.Fatal(err)
	}
	t.Skipf("chart %s cannot be had: %v", p.Chart, err)
	return nil
}
