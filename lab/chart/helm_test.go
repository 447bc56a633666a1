// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"

	"github.com/rke-lm/rke-lm/transform/ccm"
	helm "github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// TestTheTemplatesOfPublishedChartsAreKnown holds the digests by which an archive in
// a HelmChart is distinguished from one's own chart.
func TestTheTemplatesOfPublishedChartsAreKnown(t *testing.T) {
	for _, p := range All {
		files := map[string][]byte{}
		for _, f := range loaded(t, p).Raw {
			files[f.Name] = f.Data
		}
		if !ccm.PublishedTemplates(helm.DigestOf(files)) {
			t.Errorf("chart %s of %s: %s", p.Chart, p.Release, helm.DigestOf(files))
		}
		files["templates/more.yaml"] = []byte("a: b\n")
		if ccm.PublishedTemplates(helm.DigestOf(files)) {
			t.Errorf("chart %s with one more template is taken for the published one", p.Chart)
		}
	}
}

// TestValuesAreMergedAsHelmDoes gives the same sources of values to Helm, as
// helm-controller passes them, and to rke-lm.
func TestValuesAreMergedAsHelmDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		g := generated{r}
		own, first, second, set := g.mapping(3), g.mapping(3), g.mapping(3), g.set()
		want, helmErr := byHelm(t, own, first, second, set)
		got, err := byUs(t, own, first, second, set)
		if (err != nil) != (helmErr != nil) {
			t.Fatalf("%d: %v, Helm %v\n%v\n%v\n%v", i, err, helmErr, first, second, set)
		}
		if diff := cmp.Diff(textOf(want), textOf(got)); err == nil && diff != "" {
			t.Fatalf("%d: (-Helm +ours):\n%s\nown %v\nfirst %v\nsecond %v\nset %v", i, diff, own, first, second, set)
		}
	}
}

func byHelm(t *testing.T, own, first, second map[string]any, set map[string]any) (map[string]any, error) {
	t.Helper()
	given := chartutil.MergeTables(reread(t, second), reread(t, first))
	var typed, texts []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if s, isString := set[key].(string); isString && !slices.Contains([]string{"true", "false", "null"}, s) {
			texts = append(texts, key+"="+strings.ReplaceAll(s, ",", `\,`))
		} else {
			typed = append(typed, key+"="+fmt.Sprint(set[key]))
		}
	}
	for _, entry := range typed {
		if err := strvals.ParseInto(entry, given); err != nil {
			return nil, err
		}
	}
	for _, entry := range texts {
		if err := strvals.ParseIntoString(entry, given); err != nil {
			return nil, err
		}
	}
	return chartutil.CoalesceValues(&helmchart.Chart{Metadata: &helmchart.Metadata{Name: "app"}, Values: own}, given)
}

func byUs(t *testing.T, own, first, second, set map[string]any) (map[string]any, error) {
	t.Helper()
	object := func(kind string, spec map[string]any) string {
		return textOf(map[string]any{"kind": kind, "metadata": map[string]any{"name": "app"}, "spec": spec})
	}
	text := object("HelmChart", map[string]any{"chart": "app", "valuesContent": textOf(first), "set": set}) + "---\n" +
		object("HelmChartConfig", map[string]any{"valuesContent": textOf(second)})
	var s helm.Sources
	for _, c := range yamledit.Split("m.yaml", []byte(text)) {
		d, err := yamledit.Parse(c)
		if err != nil {
			t.Fatal(err)
		}
		s.Docs = append(s.Docs, d)
	}
	r, err := s.Read(helm.Charts(s.Docs)[0], func(helm.Reference) map[string]any { return own })
	all, _ := r.Value().(map[string]any)
	return all, err
}

// reread returns values as Helm reads them from a file.
func reread(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(textOf(v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func textOf(v map[string]any) string {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// generated makes values at random from few keys, so that they meet.
type generated struct{ *rand.Rand }

func (g generated) key() string { return string(rune('a' + g.IntN(4))) }

func (g generated) mapping(depth int) map[string]any {
	m := map[string]any{}
	for range g.IntN(4) {
		m[g.key()] = g.value(depth - 1)
	}
	return m
}

func (g generated) value(depth int) any {
	switch g.IntN(7) {
	case 0:
		return nil
	case 1:
		return []any{g.key(), g.IntN(9)}
	case 2:
		return g.IntN(2) == 0
	case 3, 4:
		if depth > 0 {
			return g.mapping(depth)
		}
	}
	return "s" + g.key()
}

func (g generated) set() map[string]any {
	set := map[string]any{}
	for range g.IntN(3) {
		key := g.key()
		switch g.IntN(4) {
		case 0:
			key += "." + g.key()
		case 1:
			key += fmt.Sprintf("[%d]", g.IntN(3))
		}
		set[key] = []any{"text", "with,comma", "true", "null", 7}[g.IntN(5)]
	}
	return set
}
