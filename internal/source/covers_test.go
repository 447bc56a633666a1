// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// What is written into a folder that a search enters would be read by the next run.
func TestAFolderIsCoveredByASearchThatWouldEnterIt(t *testing.T) {
	root := t.TempDir()
	clusters := filepath.Join(root, "clusters")
	file := filepath.Join(clusters, "orchard.yaml")
	for _, err := range []error{os.MkdirAll(filepath.Join(clusters, "eu"), 0o755), os.WriteFile(file, nil, 0o600), os.Symlink(clusters, filepath.Join(root, "link"))} {
		assert.NilError(t, err)
	}
	for _, c := range []struct {
		name    string
		folder  string
		paths   []string
		covered string // "" for not
	}{
		{"itself", clusters, []string{clusters}, clusters},
		{"below", filepath.Join(clusters, "eu"), []string{clusters}, clusters},
		{"not there yet", filepath.Join(clusters, "us", "plans"), []string{clusters}, clusters},
		{"hidden", filepath.Join(clusters, ".plans"), []string{clusters}, ""},
		{"not there yet, below a hidden one", filepath.Join(clusters, ".git", "plans"), []string{clusters}, ""},
		{"above", root, []string{clusters}, ""},
		{"next to it", filepath.Join(root, "plans"), []string{clusters}, ""},
		{"next to it, with a name that begins so", clusters + "-plans", []string{clusters}, ""},
		{"by a link", filepath.Join(root, "link", "eu"), []string{clusters}, clusters},
		{"from a link", filepath.Join(clusters, "eu"), []string{filepath.Join(root, "link")}, filepath.Join(root, "link")},
		{"by the second of two", filepath.Join(clusters, "eu"), []string{filepath.Join(root, "gone"), clusters}, clusters},
		{"by a file, which is no search", clusters, []string{file}, ""},
	} {
		path, is := Covers(c.paths, c.folder)
		assert.Truef(t, path == c.covered && is == (c.covered != ""), "%s: %q %t", c.name, path, is)
	}
}

func TestOnlyAFileHasAPath(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	here := assert.Value(os.Getwd())(t)
	assert.Equal(t, Source{Path: "a.yaml"}.Absolute(), filepath.Join(here, "a.yaml"))
	// An object of a server is known by its name, and was read elsewhere.
	assert.Equal(t, FromReader("fleet-default/harbour", nil).Absolute(), "")
	assert.Equal(t, FromReader("-", strings.NewReader("")).Absolute(), "")
}
