// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
)

const (
	// PlanFile is the name of the file for programs.
	PlanFile = "plan.json"

	apiVersion = "rke-lm/v1"
	kind       = "SavedPlan"
)

// content is that of plan.json.
type content struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	plan.Saved
	Files []string          `json:"files"`            // all others in the folder
	Sums  map[string]string `json:"sha256,omitempty"` // of their content, by their names
}

// Lists reports whether a plan.json lists a file of its folder with this content. One of the same
// name with other content is no file of the plan.
func Lists(planFile []byte, name string, content []byte) (plan.Saved, bool) {
	p, err := decode(planFile)
	return p.Saved, err == nil && p.Sums[name] == sum(string(content))
}

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func encode(s plan.Saved, files []action.File) string {
	p := content{APIVersion: apiVersion, Kind: kind, Saved: s, Files: []string{}, Sums: map[string]string{}}
	for _, f := range files {
		p.Files, p.Sums[f.Name] = append(p.Files, f.Name), sum(f.Content)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	enc.Encode(p) // nothing in it has no JSON
	return b.String()
}

func decode(text []byte) (content, error) {
	var p content
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("not JSON: %w", err)
	}
	if p.APIVersion != apiVersion || p.Kind != kind {
		return p, fmt.Errorf("not a %s of %s", kind, apiVersion)
	}
	return p, nil
}
