// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// gateCase is a pull request that someone wants to pass: testdata/gate/NAME.txtar. Its comment
// has a sentence or more, then the line "want: RULE..." with the rules of its errors, or
// "want: green"; "refused" is there for a review that ends with exit code 2 and no result. Of its files,
// base/PATH is in the base, change/PATH after the change, and tip/PATH is what the branch into which it is
// merged has since; delete lists paths that the change removes, a line each; args has more arguments of
// review, and folder is where it runs. script is what a shell does in the clone after the change, before the
// review: links, and the surgery of a repository; base-script is what it does before the base is committed. A program that it makes at $PROGRAM must not run.
type gateCase struct {
	why, args, folder, deleted string
	baseScript, script         string
	want                       []string // rules of errors; none for a change that is to pass
	base, change, tip          map[string]string
}

func readGateCase(t *testing.T, file string) gateCase {
	t.Helper()
	a := assert.Value(txtar.ParseFile(file))(t)
	why, want, found := strings.Cut(string(a.Comment), "want: ")
	assert.Mustf(t, found, "%s has no line want:", file)
	c := gateCase{why: strings.TrimSpace(why), base: map[string]string{}, change: map[string]string{}, tip: map[string]string{}}
	if want = strings.TrimSpace(want); want != "green" {
		c.want = strings.Fields(want)
	}
	sides := map[string]map[string]string{"base": c.base, "change": c.change, "tip": c.tip}
	single := map[string]*string{"delete": &c.deleted, "args": &c.args, "folder": &c.folder, "base-script": &c.baseScript, "script": &c.script}
	for _, f := range a.Files {
		side, path, _ := strings.Cut(f.Name, "/")
		if one := single[f.Name]; one != nil {
			*one = string(f.Data)
			continue
		}
		assert.Mustf(t, sides[side] != nil, "%s: %s is neither in base/ nor in change/ nor in tip/", file, f.Name)
		sides[side][path] = string(f.Data)
	}
	return c
}

// imported writes what is committed of cases without a script, each as branches NAME/base and NAME/change, into one repository by one git: the
// other cases are reviewed in the working tree of a repository of their own.
func imported(t *testing.T, cases map[string]gateCase) {
	t.Helper()
	var b strings.Builder
	commit := func(branch, from string, files map[string]string, deleted string) {
		fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter tester <tester@example.com> 1767225600 +0000\ndata 0\n%s", branch, from)
		for path, text := range files {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
		}
		for name := range strings.FieldsSeq(deleted) {
			fmt.Fprintf(&b, "D %s\n", name)
		}
	}
	for name, c := range cases {
		if !c.scripted() {
			commit(name+"/base", "", c.base, "")
			commit(name+"/change", "from refs/heads/"+name+"/base\n", c.change, c.deleted)
			if len(c.tip) > 0 {
				commit(name+"/base", "", c.tip, "")
			}
		}
	}
	h := newHistory(t)
	h.write("import", b.String())
	runScript(t, "git fast-import --quiet <import; git pack-refs --all; rm import")
}

func (c gateCase) scripted() bool { return c.baseScript+c.script+c.folder != "" }

// review runs review on the change.
func (c gateCase) review(t *testing.T, name string) ran {
	t.Helper()
	if !c.scripted() {
		return runHere(t, "", append([]string{"review", "--base", name + "/base", "--head", name + "/change", "-o", "json"}, strings.Fields(c.args)...)...)
	}
	t.Helper()
	h := newHistory(t)
	h.writeAll(c.base)
	runScript(t, c.baseScript)
	h.changed(nil, func(h *history) {
		h.writeAll(c.change)
		for name := range strings.FieldsSeq(c.deleted) {
			assert.NilError(t, os.Remove(name))
		}
	})
	if len(c.tip) > 0 {
		h.git("switch", "--quiet", "main")
		h.writeAll(c.tip)
		h.commit("tip")
		h.git("switch", "--quiet", "change")
	}
	program := filepath.Join(t.TempDir(), "program")
	if c.script != "" {
		t.Setenv("PROGRAM", program)
		assert.NilError(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+program+".ran\n"), 0o755))
		runScript(t, c.script)
		os.Remove(program + ".ran") // the script runs git as well
	}
	t.Chdir(filepath.Join(".", strings.TrimSpace(c.folder)))
	r := runHere(t, "", append([]string{"review", "--base", "main", "-o", "json"}, strings.Fields(c.args)...)...)
	_, err := os.Stat(program + ".ran")
	assert.True(t, err != nil, "a program of the repository ran")
	return r
}

// runScript runs a script of a case.
func runScript(t *testing.T, script string) {
	t.Helper()
	out, err := exec.Command("sh", "-eu", "-c", script).CombinedOutput()
	assert.Mustf(t, err == nil, "%v\n%s", err, out)
}

// errorsOf returns the rules of the errors that count in a review as JSON. An input that cannot
// be read has none: it counts as "unreadable".
func errorsOf(t *testing.T, r ran) []string {
	t.Helper()
	if r.stdout == "" && r.code == transform.ExitInput {
		return []string{"refused"}
	}
	type finding struct {
		Rule, Severity string
		Accepted       bool
	}
	var got struct {
		Findings []finding
		Clusters []struct{ Findings []finding }
		Errors   []any
	}
	err := json.Unmarshal([]byte(r.stdout), &got)
	assert.Mustf(t, err == nil, "%v\n%s%s", err, r.stdout, r.stderr)
	all := got.Findings
	for _, c := range got.Clusters {
		all = append(all, c.Findings...)
	}
	var rules []string
	for _, f := range all {
		if f.Severity == "error" && !f.Accepted {
			rules = append(rules, f.Rule)
		}
	}
	if len(got.Errors) > 0 {
		rules = append(rules, "unreadable")
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// TestGate holds that a change which harms is stopped, with the rules that say why, and that an
// honest one passes.
func TestGate(t *testing.T) {
	sweep(t)
	cases := map[string]gateCase{}
	for _, file := range assert.Value(filepath.Glob("testdata/gate/*.txtar"))(t) {
		cases[strings.TrimSuffix(filepath.Base(file), ".txtar")] = readGateCase(t, file)
	}
	imported(t, cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := c.review(t, name)
			got := errorsOf(t, r)
			slices.Sort(c.want)
			assert.Truef(t, slices.Equal(got, c.want), "%s\nerrors of %v, want %v\n%s%s", c.why, got, c.want, r.stdout, r.stderr)
			stopped := r.code != 0
			assert.Truef(t, stopped == (len(c.want) > 0), "%s\nexit %d with errors of %v", c.why, r.code, got)
		})
	}
}
