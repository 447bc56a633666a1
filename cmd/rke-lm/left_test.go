// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Whoever does what the line next: names, and confirms manual stages where it asks for that, comes to the
// end that the first plan promised; and nothing states before that the cluster is done.
func TestTheNextLineLeadsToThePromisedEnd(t *testing.T) {
	sweep(t)
	ends := 0
	for _, c := range ofEachFormat(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Chdir(c.LayOut(t))
			ends += leads(t, c.Input(), c.Flags())
		})
	}
	assert.Truef(t, ends >= 60, "only %d plans had an end", ends)
}

func TestTheNextLineLeadsToThePromisedEndOfSharedClusters(t *testing.T) {
	folder := os.Getenv("RKE_LM_REPRO")
	if folder == "" {
		t.Skip("RKE_LM_REPRO names no folder with clusters; make corpus sets it")
	}
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(file); err != nil || d.IsDir() || ext != ".yaml" && ext != ".yml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || len(text) > 1<<17 {
			return err
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			here(t, map[string]string{"input.yaml": string(text)})
			leads(t, "input.yaml", nil)
		})
		return nil
	})
	assert.NilError(t, err)
}

// leads follows the line next: to the end, and returns 1 if the plan has one.
func leads(t *testing.T, input string, flags []string) int {
	first := plansOf(t, append(flags, input)...)
	if len(first) != 1 {
		return 0 // not to be planned, or upgrades one after the other
	}
	var edits, known []string
	for _, s := range first[0].Stages {
		switch s.State {
		case plan.Blocked:
			return 0
		case plan.Todo:
			edits = append(edits, s.Name)
		}
		known = append(known, "--manual-done="+s.Name)
	}
	before := filesHere(t)
	if len(edits) > 0 {
		if r := runHere(t, "", slices.Concat([]string{"apply", "--through", "--stage", edits[len(edits)-1]}, known, flags, []string{input})...); r.code != transform.ExitDone {
			return 0 // something blocks it in between
		}
	}
	promised := filesHere(t)
	for name, text := range before {
		putFile(t, name, text)
	}
	for range 20 {
		left := slices.Concat(flags, []string{input})
		r := runHere(t, "", append([]string{"plan", "--summary", "--exit-code"}, left...)...)
		_, next, more := strings.Cut(strings.TrimSpace(r.stdout), "\nnext: ")
		if now := filesHere(t); !more || strings.HasPrefix(next, "rke-lm verify ") {
			assert.Mustf(t, strings.Contains(r.stdout, ", done: 1\n") && r.code == transform.ExitDone, "exit %d, and nothing is next:\n%s%s", r.code, r.stdout, r.stderr)
			if !maps.Equal(now, promised) {
				t.Fatalf("it is done, and not what was promised:\n%s", udiff.Unified("promised", "now", promised[input], now[input]))
			}
			runHere(t, "", append([]string{"apply", "--next"}, left...)...).shows(t, "apply --next", transform.ExitDone, ": nothing to do\n")
			return 1
		}
		assert.Mustf(t, !strings.Contains(r.stdout, ", done: 1\n") && r.code == transform.ExitFound, "exit %d, and something is next:\n%s", r.code, r.stdout)
		args := wordsOf(next)[1:]
		r = runHere(t, "", args...)
		switch {
		case r.code != transform.ExitDone:
			t.Fatalf("%s: exit %d\n%s", next, r.code, r.stderr)
		case args[0] == "apply":
			continue
		}
		stage := args[slices.Index(args, "--stage")+1]
		runHere(t, "", append([]string{"apply", "--next"}, left...)...).shows(t, next+", and apply --next", transform.ExitFound, ": "+stage+" ")
		if slices.Contains(edits, stage) && strings.Contains(r.stdout, stage+"  to do\n") { // no manager runs, as the plan states what to do then
			r := runHere(t, "", append([]string{"apply", "--stage", stage}, left...)...)
			assert.Mustf(t, r.code == transform.ExitDone, "exit %d\n%s", r.code, r.stderr)
			continue
		}
		flags = append(slices.Clone(flags), "--manual-done="+stage)
	}
	t.Fatal("there is no end")
	return 0
}

func plansOf(t *testing.T, args ...string) []report.Plan {
	t.Helper()
	var list report.Plans
	r := runHere(t, "", append([]string{"plan", "-o", "json"}, args...)...)
	if json.Unmarshal([]byte(r.stdout), &list) != nil || r.code != transform.ExitDone {
		return nil
	}
	return list.Clusters
}

// wordsOf are those of a command line that quotes with ' alone.
func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(" "+line, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		for j, word := range strings.Split(part, " ") {
			if j > 0 {
				words = append(words, word)
			} else if len(words) > 0 {
				words[len(words)-1] += word
			}
		}
	}
	return words
}

func filesHere(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range assert.Value(os.ReadDir("."))(t) {
		if e.Type().IsRegular() {
			all[e.Name()] = textOf(t, e.Name())
		}
	}
	return all
}
