// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
)

const (
	// PlanFile is the name of the file for programs.
	PlanFile = "plan.json"

	apiVersion = "rke-lm/v1"
	kind       = "SavedPlan"
)

// plan is the content of plan.json.
type plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	transform.Saved
	Files []string `json:"files"` // all others in the folder
}

func encode(s transform.Saved, files []File) ([]byte, error) {
	p := plan{APIVersion: apiVersion, Kind: kind, Saved: s, Files: []string{}}
	for _, f := range files {
		p.Files = append(p.Files, f.Name)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(p)
	return b.Bytes(), err
}

func decode(text []byte) (plan, error) {
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("not JSON: %w", err)
	}
	if p.APIVersion != apiVersion || p.Kind != kind {
		return p, fmt.Errorf("not a %s of %s", kind, apiVersion)
	}
	return p, nil
}
