// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

const (
	module = "github.com/rke-lm/rke-lm"
	root   = "../.."
)

// formats are the packages with a format of those that the one list of them imports.
var formats = func() (list []string) {
	one, err := parser.ParseFile(token.NewFileSet(), root+"/cmd/rke-lm/formats.go", nil, parser.ImportsOnly) // a part of a file, with an error
	for _, i := range one.Imports {
		folder, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/transform/")
		if _, none := os.Stat(root + "/transform/" + folder + "/format.go"); own && none == nil {
			list = append(list, "transform/"+folder)
		}
	}
	if err != nil || len(list) < 2 {
		panic("cmd/rke-lm/formats.go imports no formats")
	}
	return list
}()

// What the machines of an RKE2 cluster get.
const effective = "transform/rke2/effective"

// What reaches outside the process, or writes where the caller did not ask.
var doesIO = []string{"io/fs", "io/ioutil", "log", "net", "net/http", "os", "syscall"}

// Servers for tests are packages of their own, so that several packages can use them.
var testServers = []string{"internal/observe/apitest", "internal/rancher/ranchertest", "internal/migrate/migratetest"}

// A rule forbids imports in the files that it governs.
type rule struct {
	name      string
	governs   func(file) bool
	forbidden func(imported string) bool
}

var rules = []rule{
	// net/url and its like are only strings, so net is not forbidden with all below it.
	{"transform decides and does no I/O", codeOf("transform"), func(imported string) bool {
		return slices.Contains(doesIO, imported) || in(imported, "os", "log", "net/http")
	}},
	{"imports point from cmd to internal to transform", filesOf("transform"), anyOf("internal", "cmd")},
	{"imports point from cmd to internal", filesOf("internal"), anyOf("cmd")},
	{"imports point from cmd to run to what it is made of", func(f file) bool {
		return in(f.folder, "internal") && !in(f.folder, "internal/run")
	}, anyOf("internal/run")},
	{"files are read before clusters are found", codeOf("internal/files", "internal/git", "internal/source"), anyOf("internal/clusters", "internal/planfolder", "internal/report")},
	{"clusters are found before they are reported", codeOf("internal/clusters", "internal/planfolder"), anyOf("internal/report")},
	{"a report shows what it is given and reads nothing", codeOf("internal/report"), anyOf("internal/files", "internal/git", "internal/source", "internal/clusters", "internal/planfolder")},
	{"only cmd names the formats, and tests", func(f file) bool {
		return in(f.folder, "internal") && codeBut(testServers...)(f)
	}, anyOf(formats...)},
	{"rke2 reads Rancher's object and asks effective, which knows neither that nor stages", codeOf(effective), func(imported string) bool {
		return ours(imported, "transform") && !ours(imported, "transform/args", "transform/k8s", "transform/lists", "transform/yamledit") && imported != module+"/transform"
	}},
	{"other packages than rke2 ask the format what machines get", codeBut("transform/rke2", "cmd"), anyOf(effective)},
	{"imports point from the formats to the plan to the contract", filesOf("transform/plan"),
		anyOf(append([]string{"transform/stages", "transform/rules", "transform/live", "transform/ccm"}, formats...)...)},
	{"actions and the provider are below the contract", codeOf("transform/action", "transform/provider"), func(imported string) bool {
		return ours(imported, "transform") && !ours(imported, "transform/action", "transform/provider", "transform/lists")
	}},
	{"yamledit imports no other package but lists", filesOf("transform/yamledit"), func(imported string) bool {
		return in(imported, module) && !ours(imported, "transform/yamledit", "transform/lists")
	}},
	{"text/template calls methods by names, so the linker keeps all of them: 20 MB", codeOf("transform", "internal", "cmd"), func(imported string) bool {
		return imported == "text/template" || imported == "html/template"
	}},
	{"the command line is cmd's alone", func(f file) bool { return !in(f.folder, "cmd") }, func(imported string) bool {
		return in(imported, "github.com/spf13/cobra")
	}},
	{"go-cmp may panic and is meant for tests", codeBut("internal/assert"), func(imported string) bool {
		return in(imported, "github.com/google/go-cmp") || ours(imported, "internal/assert")
	}},
	{"production code speaks over the network of the machine", codeBut(append(testServers, "internal/memnet")...), anyOf(append(testServers, "internal/memnet")...)},
	{"golden cases are what tests expect", codeBut("internal/golden"), anyOf("internal/golden")},
}

func TestImportsFollowTheRules(t *testing.T) {
	all := slices.Clone(rules)
	for _, format := range formats {
		all = append(all, rule{"the formats do not know each other", filesOf(format), func(imported string) bool {
			return ours(imported, formats...) && !ours(imported, format)
		}})
	}
	for _, f := range files(t) {
		for _, imported := range f.imports {
			for _, r := range all {
				broken := r.governs(f) && r.forbidden(imported) && !(f.test && ours(imported, "internal/assert")) // all tests require by it
				assert.Truef(t, !broken, "%s imports %s; %s", f.path, imported, r.name)
			}
		}
	}
}

// The rules would also pass over files that were never found.
func TestEveryLayerIsFound(t *testing.T) {
	for _, layer := range []string{"cmd", "internal", "transform", "transform/yamledit"} {
		assert.Truef(t, slices.ContainsFunc(files(t), codeOf(layer)), "no Go files found in %s", layer)
	}
}

// A file is one Go file of this module; its path and folder are relative to the module's, with slashes.
type file struct {
	path, folder string
	test         bool
	imports      []string
	syntax       *ast.File // without comments
}

// positions are those of all files.
var positions = token.NewFileSet()

// files returns every Go file of the module, whatever its build constraints say.
func files(t *testing.T) []file {
	t.Helper()
	return assert.Value(parsed())(t)
}

// code returns those that are no tests.
func code(t *testing.T) []file {
	t.Helper()
	return lists.Where(files(t), func(f file) bool { return !f.test })
}

var parsed = sync.OnceValues(func() (found []file, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
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
	return found, err
})

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
	syntax, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	relative := strings.TrimPrefix(filepath.ToSlash(name), root+"/")
	f := file{path: relative, folder: path.Dir(relative), test: strings.HasSuffix(relative, "_test.go"), syntax: syntax}
	for _, spec := range syntax.Imports {
		f.imports = append(f.imports, strings.Trim(spec.Path.Value, "`\""))
	}
	return f, nil
}

// parseText parses a declaration as a file of its own.
func parseText(t *testing.T, text string) *ast.File {
	t.Helper()
	return assert.Value(parser.ParseFile(token.NewFileSet(), "a.go", "package a\n"+text, 0))(t)
}

// filesOf governs the files of folders, codeOf those that are no tests, and codeBut the latter of all other folders.
func filesOf(folders ...string) func(file) bool {
	return func(f file) bool { return in(f.folder, folders...) }
}

func codeOf(folders ...string) func(file) bool {
	return func(f file) bool { return !f.test && in(f.folder, folders...) }
}

func codeBut(folders ...string) func(file) bool {
	return func(f file) bool { return !f.test && !in(f.folder, folders...) }
}

// anyOf forbids imports of this module's folders.
func anyOf(folders ...string) func(string) bool {
	return func(imported string) bool { return ours(imported, folders...) }
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
