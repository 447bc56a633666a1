// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// copied is how many lines in a row, the same in two formats, count as a copy. The
// formats have one shape, so a few lines of wiring are the same.
const copied = 7

// TestFormatsShareNoCopiedCode: what two formats share is in a package below
// transform. Comments, imports, closing brackets and errors that are returned
// unchanged do not count.
func TestFormatsShareNoCopiedCode(t *testing.T) {
	seen := map[string]string{} // a run of lines: the place where it is first
	for _, format := range append(slices.Clone(formats), effective) {
		own := map[string]string{}
		for _, file := range sourcesOf(t, format) {
			for run, place := range runs(t, file) {
				first, twice := seen[run]
				assert.Truef(t, !twice, "%s is a copy of %s; move it to a package below transform:\n%s", place, first, run)
				own[run] = place
			}
		}
		assert.Truef(t, len(own) != 0, "no code of %s was looked at", format)
		for run, place := range own {
			seen[run] = place
		}
	}
}

func sourcesOf(t *testing.T, format string) []string {
	t.Helper()
	files := assert.Value(filepath.Glob(filepath.Join(root, format, "*.go")))(t)
	var sources []string
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			sources = append(sources, f)
		}
	}
	return sources
}

// runs returns the runs of lines in the declarations of a file, and where each is.
func runs(t *testing.T, file string) map[string]string {
	t.Helper()
	text := assert.Value(os.ReadFile(file))(t)
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, 0) // without comments
	assert.NilError(t, err)
	found := map[string]string{}
	for _, d := range parsed.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		lines := linesOf(t, fset, d)
		for i := 0; i+copied <= len(lines); i++ {
			found[strings.Join(lines[i:i+copied], "\n")] = fmt.Sprintf("%s, in the declaration of line %d", file, fset.Position(d.Pos()).Line)
		}
	}
	return found
}

var handedOn = []string{"if err != nil {", "return err", "return nil, err"}

// linesOf prints a declaration again and returns its lines.
func linesOf(t *testing.T, fset *token.FileSet, d ast.Decl) []string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, printer.Fprint(&b, fset, d))
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if strings.Trim(line, "(){},") != "" && !slices.Contains(handedOn, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
