// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// spent returns how many bytes a command allocates, and how many nodes it visits, which neither the machine nor its load
// decides. make bench measures the time.
func spent(t *testing.T, text string, line ...string) (allocated uint64, visited int64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	nodes, _ := yamledit.Spent()
	var errs bytes.Buffer
	code := execute(context.Background(), line, streams{in: strings.NewReader(text), out: io.Discard, err: &errs})
	assert.Mustf(t, code <= transform.ExitFound, "exit code %d: %.500s", code, errs.String())
	runtime.ReadMemStats(&after)
	visited, _ = yamledit.Spent()
	return after.TotalAlloc - before.TotalAlloc, visited - nodes
}

// spentOn is what a verb spends on a cluster, and review on a change of it.
func spentOn(t *testing.T, text, verb string) (allocated uint64, visited int64) {
	t.Helper()
	if verb != "review" {
		return spent(t, text, verb, "-")
	}
	newHistory(t).changed(map[string]string{"c.yaml": text}, func(h *history) {
		h.write("c.yaml", strings.Replace(text, "cloud-provider-name: aws\n", "cloud-provider-name: aws\n      cni: calico\n", 1))
	})
	return spent(t, "", verb, "--base", "main")
}

// doubled is what a buffer that grows in steps may take as well; counted is how many nodes may come once.
const doubled, counted = 256 << 10, 4 << 10

func TestTwiceOfAnythingTakesTwice(t *testing.T) {
	sweep(t)
	for _, h := range fleet.Hardest() {
		for _, verb := range []string{"plan", "lint", "explain", "review"} {
			if verb == "explain" && slices.Contains([]string{"machine pools and keys", "machine pools and arguments"}, h.Of) {
				continue // it prints each key for each pool
			}
			t.Run(verb+" of "+h.Of, func(t *testing.T) {
				n := max(h.Usual/16, 50)
				var none uint64
				if verb != "review" { // git decides how many bytes it takes
					n = max(h.Usual/8, 50)
					spentOn(t, h.With(1), verb) // with what the process makes once
					none, _ = spentOn(t, h.With(1), verb)
				}
				bytes, nodes := spentOn(t, h.With(n), verb)
				twice, visited := spentOn(t, h.With(2*n), verb)
				assert.Truef(t, float64(visited) <= 2.2*float64(nodes)+counted, "%d nodes for %d, %d for twice", nodes, n, visited)
				assert.Truef(t, verb == "review" || bytes >= none && twice-none <= (bytes-none)*5/2+doubled, "%d bytes for %d, %d for twice, %d for one", bytes, n, twice, none)
			})
		}
	}
}

// Layers by one cluster, and clusters by one layer: each cluster is compared in each of its layers.
func TestTwiceTheClustersOrTheLayersTakeTwice(t *testing.T) {
	sweep(t)
	review := func(files map[string]string) uint64 {
		newHistory(t).changed(files, func(h *history) {
			h.write("l0/kustomization.yaml", files["l0/kustomization.yaml"]+"nameSuffix: ''\n")
		})
		bytes, _ := spent(t, "", "review", "--base", "main")
		return bytes
	}
	for of, files := range map[string]func(n int) map[string]string{
		"clusters": func(n int) map[string]string { return fleet.Layered(n, 1) },
		"layers":   func(n int) map[string]string { return fleet.Layered(1, n) },
	} {
		if once, twice := review(files(50)), review(files(100)); twice > once*5/2+doubled {
			t.Errorf("%d bytes for 50 %s, %d for 100", once, of, twice)
		}
	}
}

// spend has a budget of a document and of a run that a command may spend, and returns what it does then.
func spend(t *testing.T, most int64, of *int64, line ...string) ran {
	t.Helper()
	usual := *of
	defer func() { *of = usual }()
	*of = most
	return runHere(t, "", line...)
}

func TestABudgetThatIsSpentIsAnErrorAndNeverGreen(t *testing.T) {
	sweep(t)
	all := fleet.Hardest()
	text := all[slices.IndexFunc(all, func(h fleet.Hard) bool { return h.Of == "keys of the configuration" })].With(500)
	newHistory(t).changed(map[string]string{"c.yaml": text}, func(h *history) { h.write("c.yaml", strings.Replace(text, "key499: v", "key499: w", 1)) })
	for _, line := range [][]string{{"lint", "c.yaml"}, {"review", "--base", "main"}} {
		for of, budget := range map[string]*int64{
			"a document": &yamledit.Most.Nodes, "a document, parsed": &yamledit.Most.Bytes, "a run": &yamledit.Most.RunNodes, "a run, parsed": &yamledit.Most.RunBytes,
		} {
			spent := 0
			for most := int64(1 << 10); ; most *= 4 { // wherever the work is when it is spent
				r := spend(t, most, budget, line...)
				if r.code == 0 {
					break
				}
				spent++
				kind, _, _ := strings.Cut(of, ",")
				all := r.stdout + r.stderr
				assert.Mustf(t, r.code == transform.ExitInput && strings.Contains(all, "the budget of "+kind+" is spent") && !strings.Contains(all, "failed") && most <= 1<<30, "%s with %d for %s: exit code %d\n%.1000s\n%.1000s", line[0], most, of, r.code, r.stdout, r.stderr)
			}
			if spent < 2 {
				t.Errorf("%s: %s spent no budget: %v", line[0], of, spend(t, 1<<10, budget, line...))
			}
		}
	}
}
