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
	"github.com/rke-lm/rke-lm/transform/lists"
)

// ofAWS is a name of AWS in a text that is no prose, and inArguments one in a text with spaces that is no sentence.
var (
	ofAWS       = regexp.MustCompile(`(?i)aws|ec2|\bebs|ecr\b`)
	inArguments = regexp.MustCompile(`^\s*aws\s*$|^-.*=aws\b|^[{\[].*"aws"`)
)

// namesAWS are the files outside of transform/provider/aws that compare a document with a name of AWS or write one into it.
var namesAWS = map[string]string{
	"transform/forms/find.go":       "lines that may describe a cluster, before anything is parsed",
	"transform/forms/table.go":      "the same",
	"transform/live/check/nodes.go": "the ID of a rule",
	"transform/redact/random.go":    "what is no secret in any document",
	"transform/redact/settings.go":  "the same",
	"transform/redact/url.go":       "the same",
	"transform/rke1/rules.go":       "the ID of a rule",
	"transform/rke1/spelling.go":    "a key of RKE's file, next to those of other clouds",
	"transform/target.go":           "a value of --end-state",
}

// TestAWSIsNamedInFewFiles: what another cloud calls differently is in one folder. Prose names AWS everywhere.
func TestAWSIsNamedInFewFiles(t *testing.T) {
	var found []string
	for _, f := range lists.Where(files(t), codeBut(append(testServers, "transform/provider", "internal/fleet")...)) {
		if literalOfAWS(f.syntax) {
			found = append(found, f.path)
			assert.Truef(t, namesAWS[f.path] != "", "%s: a name of AWS; put it into transform/provider/aws", f.path)
		}
	}
	for name := range namesAWS {
		assert.Truef(t, slices.Contains(found, name), "%s names AWS no more: take it off the list", name)
	}
}

func literalOfAWS(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		_, imported := n.(*ast.ImportSpec)
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			found = found || (!strings.Contains(text, " ") && ofAWS.MatchString(text) || inArguments.MatchString(text))
		}
		return !imported
	})
	return found
}
