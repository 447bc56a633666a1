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
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// allocated returns how many bytes a command allocates, which neither the machine nor
// its load decides. make bench measures the time.
func allocated(t *testing.T, text string, line ...string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var errs bytes.Buffer
	code := execute(context.Background(), append(line, "-"), streams{in: strings.NewReader(text), out: io.Discard, err: &errs})
	runtime.ReadMemStats(&after)
	assert.Mustf(t, code <= exitcode.Found, "exit code %d: %.500s", code, errs.String())
	return after.TotalAlloc - before.TotalAlloc
}

// verbsFor leaves out explain where it prints each key for each pool.
func verbsFor(h fleet.Hard, verbs ...string) []string {
	return slices.DeleteFunc(verbs, func(verb string) bool {
		return verb == "explain" && slices.Contains([]string{"machine pools and keys", "machine pools and arguments"}, h.Of)
	})
}

// doubled is what a buffer that grows in steps may take as well.
const doubled = 256 << 10

func TestTwiceOfAnythingTakesTwice(t *testing.T) {
	sweep(t)
	for _, h := range fleet.Hardest() {
		for _, verb := range verbsFor(h, "plan", "lint", "explain") {
			t.Run(verb+" of "+h.Of, func(t *testing.T) {
				n := max(h.Usual/8, 25)
				allocated(t, h.With(1), verb) // with what the process makes once
				none, once, twice := allocated(t, h.With(1), verb), allocated(t, h.With(n), verb), allocated(t, h.With(2*n), verb)
				own := once - none
				assert.Truef(t, once >= none && twice-none <= own*5/2+doubled, "%d bytes for %d, %d for %d, %d for one", once, n, twice, 2*n, none)
			})
		}
	}
}

// visited returns how many nodes a command visits.
func visited(t *testing.T, text string, line ...string) int64 {
	t.Helper()
	before, _ := yamledit.Spent()
	if line[0] == "review" {
		h := newHistory(t)
		h.write("c.yaml", text)
		h.commit("base")
		h.git("switch", "--quiet", "--create", "change")
		h.write("c.yaml", strings.Replace(text, "cloud-provider-name: aws\n", "cloud-provider-name: aws\n      cni: calico\n", 1))
		h.commit("change")
		before, _ = yamledit.Spent()
		r := runHere(t, "", "review", "--base", "main")
		assert.Mustf(t, r.code <= exitcode.Found, "exit code %d: %.500s", r.code, r.stderr)
	} else {
		allocated(t, text, line...)
	}
	after, _ := yamledit.Spent()
	return after - before
}

func TestTwiceOfAnythingVisitsTwiceTheNodes(t *testing.T) {
	sweep(t)
	for _, h := range fleet.Hardest() {
		for _, verb := range verbsFor(h, "plan", "lint", "explain", "review") {
			t.Run(verb+" of "+h.Of, func(t *testing.T) {
				n := max(h.Usual/16, 25)
				const counted = 4 << 10 // in steps, and what comes once
				once := visited(t, h.With(n), verb)
				for range 2 {
					n *= 2
					twice := visited(t, h.With(n), verb)
					assert.Truef(t, float64(twice) <= 2.2*float64(once)+counted, "%d nodes for %d, %d for %d", once, n/2, twice, n)
					once = twice
				}
			})
		}
	}
}

// Layers by one cluster, and clusters by one layer: each cluster is compared in each of its layers.
func TestTwiceTheClustersOrTheLayersTakeTwice(t *testing.T) {
	sweep(t)
	review := func(files map[string]string) uint64 {
		h := newHistory(t)
		for name, text := range files {
			h.write(name, text)
		}
		h.commit("base")
		h.git("switch", "--quiet", "--create", "change")
		h.write("l0/kustomization.yaml", files["l0/kustomization.yaml"]+"nameSuffix: ''\n")
		h.commit("change")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := runHere(t, "", "review", "--base", "main")
		assert.Mustf(t, r.code <= exitcode.Found, "exit code %d: %.500s", r.code, r.stderr)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for of, files := range map[string]func(n int) map[string]string{
		"clusters": func(n int) map[string]string { return fleet.Layered(n, 1) },
		"layers":   func(n int) map[string]string { return fleet.Layered(1, n) },
	} {
		if once, twice := review(files(100)), review(files(200)); twice > once*5/2+doubled {
			t.Errorf("%d bytes for 100 %s, %d for 200", once, of, twice)
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
	h := newHistory(t)
	text := fleet.Hard{}.With(0)
	for _, hard := range fleet.Hardest() {
		if hard.Of == "keys of the configuration" {
			text = hard.With(500)
		}
	}
	h.write("c.yaml", text)
	h.commit("base")
	h.git("switch", "--quiet", "--create", "change")
	h.write("c.yaml", strings.Replace(text, "key499: v", "key499: w", 1))
	h.commit("change")
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
				assert.Mustf(t, r.code == exitcode.Input && strings.Contains(all, "the budget of "+kind+" is spent") && !strings.Contains(all, "failed") && most <= 1<<30, "%s with %d for %s: exit code %d\n%.1000s\n%.1000s", line[0], most, of, r.code, r.stdout, r.stderr)
			}
			if spent < 2 {
				t.Errorf("%s: %s spent no budget: %v", line[0], of, spend(t, 1<<10, budget, line...))
			}
		}
	}
}
