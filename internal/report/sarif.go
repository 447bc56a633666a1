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

// The parts of SARIF 2.1.0 that are used (OASIS, sarif-v2.1.0-errata01).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind  string            `json:"columnKind"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string            `json:"id"`
		DeprecatedIDs []string          `json:"deprecatedIds,omitempty"`
		Short         *sarifText        `json:"shortDescription,omitempty"`
		HelpURI       string            `json:"helpUri"`
		Configuration map[string]string `json:"defaultConfiguration,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string              `json:"ruleId"`
		RuleIndex    int                 `json:"ruleIndex"`
		Level        string              `json:"level"`
		Message      sarifText           `json:"message"`
		Locations    []sarifLocation     `json:"locations,omitempty"`
		Fingerprints map[string]string   `json:"partialFingerprints"`
		Suppressions []map[string]string `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical      `json:"physicalLocation,omitempty"`
		Logical  []map[string]string `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact map[string]string `json:"artifactLocation"`
		Region   map[string]int    `json:"region,omitempty"`
	}
)

const (
	homePage  = "https://github.com/rke-lm/rke-lm"
	rulesPage = homePage + "/blob/main/docs/rules.md"
)

// WriteSARIF writes findings for code scanning.
func (r *Results) WriteSARIF(w io.Writer) {
	run := sarifRun{
		ColumnKind: "utf16CodeUnits", Invocations: []sarifInvocation{r.invocation()}, Results: []sarifResult{},
	}
	run.Tool.Driver = sarifDriver{Name: "rke-lm", Version: r.Version, InformationURI: homePage, Rules: []sarifRule{}}
	index := map[string]int{}
	for _, f := range r.All() {
		at, known := index[f.Rule]
		if !known {
			at = len(run.Tool.Driver.Rules)
			index[f.Rule] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(r.rule(f.Rule)))
		}
		run.Results = append(run.Results, sarifResultOf(f, at))
	}
	WriteJSON(w, sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// invocation has the documents that were refused.
func (r *Results) invocation() sarifInvocation {
	return sarifInvocation{len(r.Errors) == 0, lists.Map(r.Errors, func(e Problem) sarifNotification {
		return sarifNotification{"error", sarifText{e.Message}, sarifLocations(e.File, e.Line, "")}
	})}
}

func sarifRuleOf(r transform.Rule) sarifRule {
	out := sarifRule{ID: r.ID, HelpURI: rulesPage}
	if former := transform.FormerName(r.ID); former != "" {
		out.DeprecatedIDs = []string{former}
	}
	if r.Doc != "" {
		out.Short = &sarifText{r.Doc}
	}
	if r.Severity != "" {
		out.Configuration = map[string]string{"level": string(r.Severity)}
	}
	return out
}

func sarifResultOf(f transform.Finding, rule int) sarifResult {
	out := sarifResult{
		RuleID: f.Rule, RuleIndex: rule, Level: string(f.Severity), Message: sarifText{explained(f)},
		Locations: sarifLocations(f.File, f.Line, f.Path), Fingerprints: map[string]string{"rkeLmFinding/v1": fingerprint(f)},
	}
	if f.Accepted {
		out.Suppressions = []map[string]string{{"kind": "external"}}
	}
	return out
}

func sarifLocations(file string, line int, path string) []sarifLocation {
	var at sarifLocation
	if file != "" {
		at.Physical = &sarifPhysical{Artifact: map[string]string{"uri": reference(file)}}
		if line > 0 {
			at.Physical.Region = map[string]int{"startLine": line}
		}
	}
	if path != "" {
		at.Logical = []map[string]string{{"fullyQualifiedName": path}}
	}
	if at.Physical == nil && at.Logical == nil {
		return nil
	}
	return []sarifLocation{at}
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
