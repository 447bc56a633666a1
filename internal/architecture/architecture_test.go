// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const (
	module = "github.com/rke-lm/rke-lm"
	root   = "../.."
)

var formats = []string{"transform/rke2", "transform/rke1", "transform/manifest"}

// What the machines of an RKE2 cluster get.
const effective = "transform/rke2/effective"

// What reaches outside the process, or writes where the caller did not ask.
var doesIO = []string{"io/fs", "io/ioutil", "log", "net", "net/http", "os", "syscall"}

func TestTransformDoesNoIO(t *testing.T) {
	forbid(t, "transform decides and does no I/O",
		func(f file) bool { return in(f.folder, "transform") && !f.test },
		// net/url and its like are only strings, so net is not forbidden with all below it.
		func(imported string) bool {
			return slices.Contains(doesIO, imported) || in(imported, "os", "log", "net/http")
		})
}

func TestTransformImportsNeitherInternalNorCmd(t *testing.T) {
	forbid(t, "imports point from cmd to internal to transform",
		func(f file) bool { return in(f.folder, "transform") },
		func(imported string) bool { return ours(imported, "internal", "cmd") })
}

func TestInternalDoesNotImportCmd(t *testing.T) {
	forbid(t, "imports point from cmd to internal to transform",
		func(f file) bool { return in(f.folder, "internal") },
		func(imported string) bool { return ours(imported, "cmd") })
	forbid(t, "imports point from cmd to run to what it is made of",
		func(f file) bool { return in(f.folder, "internal") && !in(f.folder, "internal/run") },
		func(imported string) bool { return ours(imported, "internal/run") })
}

func TestInternalKnowsNoFormat(t *testing.T) {
	forbid(t, "only cmd names the formats, and tests",
		func(f file) bool { return in(f.folder, "internal") && !f.test && !in(f.folder, testServers...) },
		func(imported string) bool { return ours(imported, formats...) })
}

func TestFormatsDoNotImportEachOther(t *testing.T) {
	for _, format := range formats {
		forbid(t, "the formats do not know each other",
			func(f file) bool { return in(f.folder, format) },
			func(imported string) bool { return ours(imported, formats...) && !ours(imported, format) })
	}
}

func TestWhatMachinesGetIsIndependentOfTheObjectThatSaysIt(t *testing.T) {
	forbid(t, "rke2 reads Rancher's object and asks effective, which knows neither that nor stages",
		func(f file) bool { return in(f.folder, effective) && !f.test },
		func(imported string) bool {
			return ours(imported, "transform") && !ours(imported, "transform/args", "transform/k8s", "transform/lists", "transform/yamledit") && imported != module+"/transform"
		})
	forbid(t, "other packages ask the format",
		func(f file) bool { return !f.test && !in(f.folder, "transform/rke2", "cmd") },
		func(imported string) bool { return ours(imported, effective) })
}

func TestTheEngineKnowsNoStageAndNoFormat(t *testing.T) {
	forbid(t, "imports point from the formats to the plan to the contract",
		func(f file) bool { return in(f.folder, "transform/plan") },
		func(imported string) bool {
			return ours(imported, slices.Concat(formats, []string{"transform/stages", "transform/rules", "transform/live", "transform/ccm"})...)
		})
}

func TestYamleditImportsNoOtherPackageOfThisModule(t *testing.T) {
	const yamledit = "transform/yamledit"
	forbid(t, "yamledit imports no other package",
		func(f file) bool { return in(f.folder, yamledit) },
		func(imported string) bool { return in(imported, module) && !ours(imported, yamledit) })
}

func TestOnlyCmdImportsCobra(t *testing.T) {
	forbid(t, "the command line is cmd's alone",
		func(f file) bool { return !in(f.folder, "cmd") },
		func(imported string) bool { return in(imported, "github.com/spf13/cobra") })
}

func TestGoCmpIsImportedByTestsOnly(t *testing.T) {
	forbid(t, "go-cmp may panic and is meant for tests",
		func(f file) bool { return !f.test && !in(f.folder, "internal/assert") },
		func(imported string) bool {
			return in(imported, "github.com/google/go-cmp") || ours(imported, "internal/assert")
		})
}

// Servers for tests are packages of their own, so that several packages can use them.
var testServers = []string{"internal/observe/apitest", "internal/rancher/ranchertest", "internal/migrate/migratetest"}

func TestOnlyTestsAndTheirServersUseTheNetworkInMemory(t *testing.T) {
	forbid(t, "production code speaks over the network of the machine",
		func(f file) bool {
			return !f.test && !in(f.folder, "internal/memnet") && !in(f.folder, testServers...)
		},
		func(imported string) bool {
			return ours(imported, "internal/memnet") || ours(imported, testServers...)
		})
}

func TestGoldenCasesAreReadByTestsOnly(t *testing.T) {
	forbid(t, "golden cases are what tests expect",
		func(f file) bool { return !f.test && !in(f.folder, "internal/golden") },
		func(imported string) bool { return ours(imported, "internal/golden") })
}

// The tests above would also pass over files they never found.
func TestEveryLayerIsFound(t *testing.T) {
	for _, layer := range []string{"cmd", "internal", "transform", "transform/yamledit"} {
		assert.Truef(t, slices.ContainsFunc(files(t), func(f file) bool { return in(f.folder, layer) && !f.test }), "no Go files found in %s", layer)
	}
}

// A file is one Go file of this module; its folder is relative to the module's, with slashes.
type file struct {
	folder, name string
	test         bool
	imports      []string
}

// forbid reports every import that is forbidden in a file the rule governs.
func forbid(t *testing.T, rule string, governs func(file) bool, forbidden func(string) bool) {
	t.Helper()
	for _, f := range files(t) {
		if !governs(f) {
			continue
		}
		for _, imported := range f.imports {
			if forbidden(imported) && !(f.test && ours(imported, "internal/assert")) { // all tests require by it
				t.Errorf("%s imports %s; %s", path.Join(f.folder, f.name), imported, rule)
			}
		}
	}
}

// files parses the imports of every Go file of the module, whatever its build constraints say.
func files(t *testing.T) []file {
	t.Helper()
	var found []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && notOurs(name):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		f, err := parse(name)
		found = append(found, f)
		return err
	})
	assert.NilError(t, err)
	return found
}

// notOurs reports whether a folder is hidden, holds test data, or is a module of its own.
func notOurs(folder string) bool {
	base := filepath.Base(folder)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func parse(name string) (file, error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return file{}, err
	}
	folder, base := path.Split(filepath.ToSlash(relative))
	f := file{folder: path.Clean(folder), name: base, test: strings.HasSuffix(base, "_test.go")}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// ours reports whether an import is one of this module's folders, or below one.
func ours(imported string, folders ...string) bool {
	relative, ok := strings.CutPrefix(imported, module+"/")
	return ok && in(relative, folders...)
}

// in reports whether a path is one of the folders, or below one.
func in(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/")
	})
}
