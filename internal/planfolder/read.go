// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Read returns the plans in a folder: that of a cluster, or the one above, which
// was named when they were written.
func Read(folder string) ([]plan.Saved, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("%s: no such plan folder; use one from plan --out", folder)
	}
	folders := []string{folder}
	if _, err := os.Stat(filepath.Join(folder, PlanFile)); err != nil {
		if folders, err = below(folder); err != nil {
			return nil, err
		}
	}
	var plans []plan.Saved
	for _, f := range folders {
		p, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot read the plan: %w; plan again with --out", filepath.Join(f, PlanFile), err)
		}
		plans = append(plans, p.Saved)
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("%s: it has no plan; use a folder from plan --out", folder)
	}
	return plans, nil
}

// below finds plan folders where Place puts them. Hidden ones are not complete.
func below(folder string) (found []string, err error) {
	namespaces, err := folders(folder)
	for _, namespace := range namespaces {
		names, failed := folders(namespace)
		err = errors.Join(err, failed)
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(name, PlanFile)); err == nil {
				found = append(found, name)
			}
		}
	}
	return found, err
}

// folders returns the folders in a folder that are not hidden.
func folders(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	shown := lists.Where(entries, func(e os.DirEntry) bool { return e.IsDir() && !strings.HasPrefix(e.Name(), ".") })
	return lists.Map(shown, func(e os.DirEntry) string { return filepath.Join(path, e.Name()) }), err
}

func read(folder string) (content, error) {
	text, err := os.ReadFile(filepath.Join(folder, PlanFile))
	if err != nil {
		return content{}, err
	}
	return decode(text)
}

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
