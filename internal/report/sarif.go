// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// object is one of SARIF 2.1.0 (OASIS, sarif-v2.1.0-errata01). A test checks the whole against its schema.
type object map[string]any

const (
	homePage  = "https://github.com/rke-lm/rke-lm"
	rulesPage = homePage + "/blob/main/docs/rules.md"
)

// WriteSARIF writes findings for code scanning.
func (r *Results) WriteSARIF(w io.Writer) {
	rules, results, index := []object{}, []object{}, map[string]int{}
	for _, f := range r.All() {
		at, known := index[f.Rule]
		if !known {
			at = len(rules)
			index[f.Rule], rules = at, append(rules, sarifRule(r.rule(f.Rule)))
		}
		results = append(results, sarifResult(f, at))
	}
	driver := object{"name": "rke-lm", "informationUri": homePage, "rules": rules}
	if r.Version != "" {
		driver["version"] = r.Version
	}
	invocation := object{"executionSuccessful": len(r.Errors) == 0}
	if len(r.Errors) > 0 { // documents that were refused
		invocation["toolExecutionNotifications"] = lists.Map(r.Errors, func(e Problem) object {
			return located(object{"level": "error", "message": sarifText(e.Message)}, e.File, e.Line, "")
		})
	}
	run := object{"tool": object{"driver": driver}, "columnKind": "utf16CodeUnits", "invocations": []object{invocation}, "results": results}
	WriteJSON(w, object{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0", "runs": []object{run},
	})
}

func sarifText(text string) object { return object{"text": text} }

func sarifRule(r transform.Rule) object {
	out := object{"id": r.ID, "helpUri": rulesPage}
	if former := transform.FormerName(r.ID); former != "" {
		out["deprecatedIds"] = []string{former}
	}
	if r.Doc != "" {
		out["shortDescription"] = sarifText(r.Doc)
	}
	if r.Severity != "" {
		out["defaultConfiguration"] = object{"level": r.Severity}
	}
	return out
}

func sarifResult(f transform.Finding, rule int) object {
	out := object{
		"ruleId": f.Rule, "ruleIndex": rule, "level": f.Severity, "message": sarifText(explained(f)),
		"partialFingerprints": object{"rkeLmFinding/v1": fingerprint(f)},
	}
	if f.Accepted {
		out["suppressions"] = []object{{"kind": "external"}}
	}
	return located(out, f.File, f.Line, f.Path)
}

// located adds the place in a file, or of a cluster, if there is one.
func located(of object, file string, line int, path string) object {
	at := object{}
	if file != "" {
		physical := object{"artifactLocation": object{"uri": reference(file)}}
		if line > 0 {
			physical["region"] = object{"startLine": line}
		}
		at["physicalLocation"] = physical
	}
	if path != "" {
		at["logicalLocations"] = []object{{"fullyQualifiedName": path}}
	}
	if len(at) > 0 {
		of["locations"] = []object{at}
	}
	return of
}

// reference is a path as a URI reference: relative to the folder in which rke-lm runs, if
// the path is.
func reference(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// fingerprint is the same as long as the finding is, whatever lines come before it.
func fingerprint(f transform.Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, f.File, f.Path, f.Message}, "\x00")))
	return fmt.Sprintf("%x", sum[:16])
}
