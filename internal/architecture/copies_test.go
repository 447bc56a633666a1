// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
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
		for _, f := range code(t) {
			if f.folder != format {
				continue
			}
			for run, place := range runs(t, f) {
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

// runs returns the runs of lines in the declarations of a file, and where each is.
func runs(t *testing.T, f file) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, d := range f.syntax.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		lines := linesOf(t, d)
		for i := 0; i+copied <= len(lines); i++ {
			found[strings.Join(lines[i:i+copied], "\n")] = fmt.Sprintf("%s, in the declaration of line %d", f.path, positions.Position(d.Pos()).Line)
		}
	}
	return found
}

var passedOn = []string{"if err != nil {", "return err", "return nil, err"}

// linesOf prints a declaration again and returns its lines.
func linesOf(t *testing.T, d ast.Decl) []string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, printer.Fprint(&b, positions, d))
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if strings.Trim(line, "(){},") != "" && !slices.Contains(passedOn, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
