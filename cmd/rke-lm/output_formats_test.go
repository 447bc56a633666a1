// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // has the schema
	"github.com/xeipuuv/gojsonschema"

	"golang.org/x/net/html"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
)

// sarifSchema returns the schema of SARIF 2.1.0, a constant of the module that has it.
func sarifSchema(t *testing.T) gojsonschema.JSONLoader {
	t.Helper()
	dir := assert.Value(exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output())(t)
	file := assert.Value(parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0))(t)
	text := assert.Value(strconv.Unquote(file.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value))(t)
	return gojsonschema.NewStringLoader(text)
}

// The validator would also pass what a schema that was not found has no rule for.
func TestSARIFThatIsNotValidIsFound(t *testing.T) {
	result, err := gojsonschema.Validate(sarifSchema(t), gojsonschema.NewStringLoader(`{"version": "2.1.0", "runs": [{"results": [{"level": "fatal"}]}]}`))
	assert.True(t, err == nil && !result.Valid(), "no error", err)
}

var annotation = regexp.MustCompile(`^::(error|warning|notice) (file=[^,:]+,(line=\d+,)?)?title=[^:]+::.+$`)

// Every verb that finds something has all formats, with the exit code of its text.
func TestFindingsComeInEveryFormat(t *testing.T) {
	dump := golden.Input(t, "live-node-not-ready")
	verbs := map[string][]string{
		"plan":   {"plan", inputOf(t, "rule-csi-gate-stale"), "../../examples"},
		"lint":   {"lint", "--accept", "csi-gate-stale", inputOf(t, "rule-csi-gate-stale"), "../../examples", "no-such-file"},
		"verify": {"verify", "--from", filepath.Join(dump.LayOut(t), dump.Input())},
	}
	for verb, args := range verbs {
		text := runHere(t, "", args...)
		for format, check := range formatChecks(sarifSchema(t)) {
			t.Run(verb+" "+format, func(t *testing.T) {
				r := runHere(t, "", append([]string{args[0], "-o", format}, args[1:]...)...)
				assert.Truef(t, r.code == text.code && r.stdout != "", "exit %d, as text %d\n%s", r.code, text.code, r.stderr)
				check(t, r.stdout)
			})
		}
	}
}

func formatChecks(schema gojsonschema.JSONLoader) map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"sarif": func(t *testing.T, text string) {
			result := assert.Value(gojsonschema.Validate(schema, gojsonschema.NewStringLoader(text)))(t)
			assert.True(t, result.Valid(), result.Errors())
			runs := decoded[struct {
				Runs []struct{ Results []json.RawMessage }
			}](t, text).Runs
			assert.True(t, len(runs) == 1 && len(runs[0].Results) != 0, text)
		},
		"junit": func(t *testing.T, text string) {
			var suites struct {
				XMLName xml.Name `xml:"testsuites"`
				Suites  []struct {
					Cases []struct {
						Name string `xml:"name,attr"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			err := xml.NewDecoder(bytes.NewBufferString(text)).Decode(&suites)
			assert.Truef(t, err == nil && len(suites.Suites) != 0 && len(suites.Suites[0].Cases) != 0, "%v\n%s", err, text)
		},
		"github": func(t *testing.T, text string) {
			for line := range strings.Lines(text) {
				assert.True(t, annotation.MatchString(strings.TrimSuffix(line, "\n")), line)
			}
		},
		"html": func(t *testing.T, text string) {
			root, err := html.Parse(strings.NewReader(text))
			assert.Truef(t, err == nil && strings.HasPrefix(text, "<!DOCTYPE html>") && strings.HasSuffix(strings.TrimSpace(text), "</html>") && root.LastChild != nil, "%v\n%.200s", err, text)
		},
		"markdown": func(t *testing.T, text string) {
			assert.Truef(t, strings.HasPrefix(text, "## rke-lm ") && len(text) <= 60_000, "%d bytes\n%.200s", len(text), text)
		},
	}
}
