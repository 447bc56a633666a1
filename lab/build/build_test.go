// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// keyOf returns the key of a module with the given files.
func keyOf(t *testing.T, p Program, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	key := assert.Value(p.key(dir))(t)
	return key
}

func TestTheCacheIsKeyedByAllThatGoesIn(t *testing.T) {
	p := Program{Name: "p", Module: "m", Package: ".", Version: "v1.26.15"}
	with := func(name, text string) map[string]string {
		files := map[string]string{"main.go": "package main", "go.mod": "module m", "go.sum": "a v1 h1:x"}
		files[name] = text
		return files
	}
	same := keyOf(t, p, with("go.sum", "a v1 h1:x"))
	assert.Equal(t, keyOf(t, p, with("README", "not built")), same, "a file that is not built changes the key")
	for name, files := range map[string]map[string]string{
		"another version of a module": with("go.sum", "a v2 h1:y"),
		"another requirement":         with("go.mod", "module m\nreplace a => b"),
		"another source":              with("main.go", "package main // changed"),
		"a new source":                with("new.go", "package main"),
	} {
		if keyOf(t, p, files) == same {
			t.Errorf("%s has the same key", name)
		}
	}
	p.Version = "v1.26.14"
	if keyOf(t, p, with("go.sum", "a v1 h1:x")) == same {
		t.Error("another stamped version has the same key")
	}
}

func TestProgramsOfOneModuleHaveTheKeysOfTheirRequirements(t *testing.T) {
	files := map[string]string{"main.go": "package main", "go.mod": "module m", "go.sum": "a v1 h1:x", "go-1.34.mod": "module m", "go-1.34.sum": "a v2 h1:y"}
	p := Program{Name: "p", Module: "m", Package: ".", Version: "v1.34.1", Requirements: "go-1.34.mod"}
	with := keyOf(t, p, files)
	files["go.sum"] = "a v3 h1:z"
	assert.Equal(t, keyOf(t, p, files), with, "the requirements of another release change the key")
	files["go-1.34.sum"] = "a v3 h1:z"
	if keyOf(t, p, files) == with {
		t.Error("other requirements have the same key")
	}
}

func TestAModuleWithoutSumsIsAnError(t *testing.T) {
	if _, err := Helm.key(t.TempDir()); err == nil {
		t.Error("an empty folder has a key")
	}
}

func TestTheVersionIsStampedWhole(t *testing.T) {
	p := assert.Value(ControlPlane("v1.26"))(t)
	for _, want := range []string{"component-base/version.gitVersion=v1.26.15", "client-go/pkg/version.gitVersion=v1.26.15", "gitMajor=1 ", "gitMinor=26 "} {
		if !strings.Contains(p.flags(), want) {
			t.Errorf("%q is not in %q", want, p.flags())
		}
	}
}

func TestAnUnknownMinorIsRefused(t *testing.T) {
	for _, of := range []func(string) (Program, error){ControlPlane, CloudControllerManager} {
		assert.Error(of("v1.20"))(t, "v1.20")
	}
}
