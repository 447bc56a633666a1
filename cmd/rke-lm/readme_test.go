// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
)

const updateDocs = "go test ./cmd/rke-lm -run 'TestReadme|TestRules|TestDocs' -update"

func TestReadmeSessionsAreWhatHappens(t *testing.T) {
	checkSessions(t, guide{file: "README.md"})
}

func TestReadmeNamesTwoSetUpCommands(t *testing.T) {
	block := regexp.MustCompile("(?s)\n## Set up\n.*?\n```sh\n(.*?)```\n").FindStringSubmatch(readDoc(t, "README.md"))
	if block == nil {
		t.Fatal("README.md has no block of commands below ## Set up")
	}
	targets := makeTargets(t)
	commands := strings.Split(strings.TrimSpace(block[1]), "\n")
	for _, c := range commands {
		if target, isMake := strings.CutPrefix(c, "make "); !isMake || !slices.Contains(targets, target) {
			t.Errorf("the set-up command %q is not a target of the Makefile", c)
		}
	}
	if len(commands) != 2 {
		t.Errorf("README.md has %d set-up commands, not 2", len(commands))
	}
}

func TestReadmeNamesOnlyFilesOfTheClone(t *testing.T) {
	doc := readDoc(t, "README.md")
	var named []string
	for _, block := range commandBlock.FindAllStringSubmatch(doc, -1) {
		for _, word := range strings.Fields(block[1]) {
			if strings.Contains(word, "/") {
				named = append(named, word)
			}
		}
	}
	if len(named) == 0 {
		t.Error("README.md names no file in a command")
	}
	for _, path := range named {
		if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
			t.Errorf("a command of README.md: %v", err)
		}
	}
}

// A reader gets through the first pages in minutes.
func TestReadmeAndArchitectureAreShort(t *testing.T) {
	for file, limit := range map[string]int{"README.md": 120, "ARCHITECTURE.md": 100} {
		if lines := strings.Count(readDoc(t, file), "\n"); lines > limit {
			t.Errorf("%s has %d lines, more than %d", file, lines, limit)
		}
	}
	sessions := sessionBlock.FindAllStringSubmatch(readDoc(t, "README.md"), -1)
	if len(sessions) != 1 || strings.Count(sessions[0][2], "\n") > 40 {
		t.Errorf("README.md has %d sessions, or one of more than 40 lines", len(sessions))
	}
}

// readDoc returns a file that is named from the root of the repository on.
func readDoc(t *testing.T, file string) string {
	t.Helper()
	return textOf(t, filepath.Join("../..", file))
}

// checkDoc requires that a file is as it should be, or makes it so.
func checkDoc(t *testing.T, file, is, should string) {
	t.Helper()
	switch {
	case is == should:
	case !*update:
		t.Errorf("%s differs from what is true; if the change is right, run: %s\n%s", file, updateDocs, udiff.Unified("written/"+file, "true/"+file, is, should))
	default:
		putFile(t, filepath.Join("../..", file), should)
	}
}

// makeTargets lists the targets of the Makefile.
func makeTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(readDoc(t, "Makefile"), -1) {
		targets = append(targets, m[1])
	}
	return targets
}
