// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// fileFlags are the flags that take files, or a command, which may be a script, for which the shell completes paths.
var fileFlags = []string{"against", "arguments-from", "audit-log", "cacert", "ccm-values", "config", "dump", "exclude", "from", "host-names", "kubeconfig", "policy", "restart-command", "snapshot", "token-file"}

// completing is the root of a command line that a shell completes.
func completing(t *testing.T) *cobra.Command {
	t.Helper()
	root := newRoot(streams{})
	assert.NilError(t, root.PersistentPreRunE(&cobra.Command{Use: cobra.ShellCompRequestCmd}, nil))
	return root
}

// TestEveryFlagWithAValueCompletesIt walks all flags of all verbs.
func TestEveryFlagWithAValueCompletesIt(t *testing.T) {
	root := completing(t)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, completes := c.GetFlagCompletionFunc(f.Name)
			switch isFile := slices.Contains(fileFlags, f.Name); {
			case f.Value.Type() == "bool" && f.Name != "dry-run":
			case completes == isFile:
				t.Errorf("%s --%s: it completes values: %t; it takes files: %t", c.Name(), f.Name, completes, isFile)
			}
		})
	}
}

// TestWhatAFlagCompletesIsWhatItTakes gives every value of every flag that names its values
// to the verb.
func TestWhatAFlagCompletesIsWhatItTakes(t *testing.T) {
	root := completing(t)
	for _, c := range root.Commands() {
		if !slices.Contains([]string{"plan", "apply", "lint", "explain", "deployment", "leader-migration-config"}, c.Name()) {
			continue // those for live clusters would connect
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			complete, has := c.GetFlagCompletionFunc(f.Name)
			if !has || f.Name == "context" || f.Name == "cluster" || f.Name == "rancher-cli" {
				return
			}
			values, _ := complete(c, nil, "")
			for _, v := range values {
				args := []string{c.Name(), "--" + f.Name + "=" + v, "/no/such/file"}
				if c.Name() == "apply" && f.Name != "stage" && f.Name != "undo" {
					args = append(args, "--next")
				}
				r := runHere(t, "", args...)
				refused := strings.Contains(r.stderr, "--"+f.Name+" "+v) || strings.Contains(r.stderr, "--"+f.Name+"="+v)
				assert.Truef(t, !refused || strings.Contains(r.stderr, "requires a Rancher"), "%s --%s %s: %s", c.Name(), f.Name, v, r.stderr)
			}
		})
	}
}

// TestEveryFlagIsInHelp compares the help with the flags: the short one names all of them, and fits on a screen.
func TestEveryFlagIsInHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	root := newRoot(streams{})
	assert.True(t, screenLines(runHere(t, "", "--help").stdout) <= 40, "--help has more than 40 lines")
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		short, all := runHere(t, "", c.Name(), "--help").stdout, runHere(t, "", c.Name(), "--help-all").stdout
		n := screenLines(short)
		assert.Truef(t, n <= 40, "%s --help has %d lines", c.Name(), n)
		for line := range strings.Lines(short) {
			assert.Truef(t, utf8.RuneCountInString(line) <= 81, "%s --help: wider than 80 columns: %s", c.Name(), line)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name := regexp.MustCompile("--" + f.Name + `[ \[\n]`)
			assert.Truef(t, f.Hidden || (name.MatchString(short) && name.MatchString(all)), "%s --help or --help-all does not show --%s", c.Name(), f.Name)
		})
	}
}

// screenLines are the lines of a text on a terminal of 80 columns.
func screenLines(text string) (n int) {
	for line := range strings.Lines(text) {
		n += 1 + max(0, utf8.RuneCountInString(strings.TrimRight(line, "\n"))-1)/80
	}
	return n
}

func TestTheFlagsOfHelpAllAreInGroups(t *testing.T) {
	plan := runHere(t, "", "plan", "--help-all").stdout
	var headings []string
	for line := range strings.Lines(plan) {
		if heading, is := strings.CutSuffix(strings.TrimSpace(line), "Flags:"); is {
			headings = append(headings, heading)
		} else if strings.HasSuffix(strings.TrimSpace(line), choiceGroup+":") {
			headings = append(headings, choiceGroup)
		}
	}
	want := []string{"", "Input ", choiceGroup, "Connection ", "Global "}
	assert.Truef(t, slices.Equal(headings, want), "plan --help has the groups %q, not %q", headings, want)
}
