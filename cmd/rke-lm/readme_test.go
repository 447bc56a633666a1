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

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

const updateDocs = "go test ./cmd/rke-lm -run 'TestReadme|TestRules|TestDocs' -update"

func TestReadmeSessionsAreWhatHappens(t *testing.T) {
	checkSessions(t, guide{file: "README.md"})
}

func TestReadmeNamesTwoSetUpCommands(t *testing.T) {
	block := regexp.MustCompile("(?s)\n## Set up\n.*?\n```sh\n(.*?)```\n").FindStringSubmatch(readDoc(t, "README.md"))
	assert.Must(t, block != nil, "README.md has no block of commands below ## Set up")
	targets := makeTargets(t)
	commands := strings.Split(strings.TrimSpace(block[1]), "\n")
	for _, c := range commands {
		target, isMake := strings.CutPrefix(c, "make ")
		assert.Truef(t, isMake && slices.Contains(targets, target), "the set-up command %q is not a target of the Makefile", c)
	}
	assert.Truef(t, len(commands) == 2, "README.md has %d set-up commands, not 2", len(commands))
}

func TestReadmeNamesOnlyFilesOfTheClone(t *testing.T) {
	for _, block := range commandBlock.FindAllStringSubmatch(readDoc(t, "README.md"), -1) {
		for _, word := range strings.Fields(block[1]) {
			if strings.Contains(word, "/") {
				_, err := os.Stat(filepath.Join("../..", word))
				assert.NilError(t, err)
			}
		}
	}
}

// A reader gets through the first pages in minutes.
func TestReadmeAndArchitectureAreShort(t *testing.T) {
	for file, limit := range map[string]int{"README.md": 120, "ARCHITECTURE.md": 100} {
		lines := strings.Count(readDoc(t, file), "\n")
		assert.Truef(t, lines <= limit, "%s has %d lines, more than %d", file, lines, limit)
	}
	sessions := sessionBlock.FindAllStringSubmatch(readDoc(t, "README.md"), -1)
	assert.Truef(t, len(sessions) == 1 && strings.Count(sessions[0][2], "\n") <= 40, "README.md has %d sessions, or one of more than 40 lines", len(sessions))
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
	return lists.Map(regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(readDoc(t, "Makefile"), -1), func(m []string) string { return m[1] })
}
