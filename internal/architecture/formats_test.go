// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// A name of a format: in an identifier in any spelling, and in a text that is no prose.
var (
	formatName = regexp.MustCompile(`(?i)rke[12]`)
	formatText = regexp.MustCompile(`\brke[12]`)
)

// named are what knows formats: themselves, the tables of facts about their releases, the
// one list of them, and the clusters that tests and benchmarks are run on.
var named = slices.Concat([]string{"charts", "scripts/facts", "cmd/rke-lm/formats.go", "internal/fleet", "transform/forms"}, testServers, formats)

// TestNoFormatIsNamedElsewhere: what distinguishes formats is a part of transform.Format, so
// that another one needs no branch.
func TestNoFormatIsNamedElsewhere(t *testing.T) {
	for _, f := range code(t) {
		if in(f.path, named...) {
			continue
		}
		for _, at := range formatsIn(f.syntax) {
			t.Errorf("%s: a format is named; ask transform.Format or its Live, and say there what differs", positions.Position(at))
		}
	}
}

// formatsIn returns where a file names a format, apart from prose.
func formatsIn(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if formatName.MatchString(n.Name) {
				found = append(found, n.Pos())
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && !strings.Contains(text, " ") && formatText.MatchString(text) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func TestANamedFormatIsFound(t *testing.T) {
	for code, want := range map[string]int{
		`const Name = "rke2"`:                         1,
		`var is = d.Name == rke1.Name`:                1,
		`var RKE1 = 1`:                                1,
		`var is = strings.Contains(version, "+rke2")`: 1,
		`import "example.org/rke2"`:                   1,
		`var text = "RKE1 clusters"`:                  0,
		`var text = "the stub gives nodes rke2://"`:   0,
		`var rke = 1 // of rke2`:                      0,
	} {
		assert.Equal(t, len(formatsIn(parseText(t, code))), want, code)
	}
}
