// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
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

// ofAWS is a name of AWS in a text that is no prose, inArguments one in a text with spaces that is no sentence, and
// inIdentifier one in what a file declares.
var (
	ofAWS       = regexp.MustCompile(`(?i)aws|ec2|\bebs|ecr\b`)
	inArguments = regexp.MustCompile(`^\s*aws\s*$|^-.*=aws\b|^[{\[].*"aws"`)

	inIdentifier = regexp.MustCompile(`AWS|EC2|EBS|ECR`)
)

// namesAWS are the files outside of transform/provider/aws that compare a document with a name of AWS, write one into it, or
// declare something that is called so.
var namesAWS = map[string]string{
	"transform/forms/find.go":       "lines that may describe a cluster, before anything is parsed",
	"transform/live/check/nodes.go": "the ID of a rule",
	"transform/redact/scalar.go":    "what is no secret in any document",
	"transform/redact/scan.go":      "the same",
	"transform/redact/values.go":    "the same",
	"transform/rke1/rules.go":       "the ID of a rule",
	"transform/rke1/read.go":        "a key of RKE's file, next to those of other clouds",
	"transform/target.go":           "a value of --end-state",
}

// TestAWSIsNamedInFewFiles: what another cloud calls differently is in one folder. Prose names AWS everywhere.
func TestAWSIsNamedInFewFiles(t *testing.T) {
	var found []string
	for _, f := range lists.Where(files(t), codeBut(append(testServers, "transform/provider", "internal/fleet")...)) {
		if mentionsAWS(f.syntax) {
			found = append(found, f.path)
			assert.Truef(t, namesAWS[f.path] != "", "%s: a name of AWS; put it into transform/provider/aws", f.path)
		}
	}
	for name := range namesAWS {
		assert.Truef(t, slices.Contains(found, name), "%s names AWS no more: take it off the list", name)
	}
}

func mentionsAWS(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		var declared []*ast.Ident
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				found = found || !strings.Contains(text, " ") && ofAWS.MatchString(text) || inArguments.MatchString(text)
			}
		case *ast.FuncDecl:
			declared = []*ast.Ident{n.Name}
		case *ast.TypeSpec:
			declared = []*ast.Ident{n.Name}
		case *ast.ValueSpec:
			declared = n.Names
		case *ast.Field:
			declared = n.Names
		}
		found = found || slices.ContainsFunc(declared, func(id *ast.Ident) bool { return inIdentifier.MatchString(id.Name) })
		return true
	})
	return found
}

var (
	stageConstant = regexp.MustCompile(`(?m)^const ([A-Z]\w+) = "[a-z-]+"$`)
	stageUse      = regexp.MustCompile(`\bstages\.([A-Z]\w+)`)
)

// TestAStageIsNamedInFewFiles: its meaning is a file of transform/stages, and what rules stop is a list of
// transform/rules. Whoever changes a stage reads these files and no others.
func TestAStageIsNamedInFewFiles(t *testing.T) {
	const most = 8
	var known []string
	in := map[string][]string{}
	for _, f := range code(t) {
		text := assert.Value(os.ReadFile(filepath.Join(root, f.path)))(t)
		if f.folder == "transform/stages" {
			for _, m := range stageConstant.FindAllSubmatch(text, -1) {
				known = append(known, string(m[1]))
			}
		}
		for _, m := range stageUse.FindAllSubmatch(text, -1) {
			if stage := string(m[1]); !slices.Contains(in[stage], f.path) {
				in[stage] = append(in[stage], f.path)
			}
		}
	}
	for _, stage := range known {
		assert.Truef(t, len(in[stage]) <= most, "%s is named in %d files, at most %d: %q; use a list of transform/rules, or ask transform/stages", stage, len(in[stage]), most, in[stage])
	}
	assert.Truef(t, len(known) >= 10, "only %d stages were found: %q", len(known), known)
}
