// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package planfolder writes plans to folders and reads them back: one folder for each
// cluster, with plan.json for programs and the rest for people.
//
// Invariant: a plan folder is complete or not there, through every error and
// power cut, and a folder that is not a plan of the same cluster is never touched.
//
// The documents in a folder are those of the cluster, byte for byte, and
// plan.json and the patches hold what the stages take out of them. All may hold
// secrets, so only the user can read the folder (0700) and the files in it (0600). The diffs
// are redacted.
package planfolder

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ErrForeign means that a folder is not a plan of the same cluster, or holds more
// than one.
var ErrForeign = transform.NewError(transform.ExitRefused, "is not a plan folder of this cluster")

// Write writes the plan of a cluster to its folder below root, and returns that.
// A plan of the same cluster is replaced as a whole, if it has nothing that the new one lacks or
// replace is set; another folder is refused with an error that wraps [ErrForeign]. When it returns
// an error, what was there is there.
func Write(root string, s plan.Saved, others []action.File, replace bool) (string, error) {
	path := filepath.Join(root, Place(s))
	files.RestoreFolders(filepath.Dir(path), func(folder string) (string, error) {
		p, err := read(folder)
		return filepath.Base(Place(p.Saved)), err
	})
	exists, err := replaceable(path, s, replace)
	if err != nil {
		return path, err
	}
	all := append(slices.Clone(others), action.File{Name: PlanFile, Content: encode(s, others)})
	if err := files.ReplaceFolder(path, all, exists); err != nil {
		return path, fmt.Errorf("%s: the plan was not written: %w; free disk space, or use another folder", path, err)
	}
	return path, nil
}

// replaceable reports whether a folder is there, and refuses one that is not a
// plan of the same cluster and nothing else, or that has to stay.
func replaceable(path string, s plan.Saved, replace bool) (exists bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return true, fmt.Errorf("%s: %w, and not a folder; use another one with --out", path, ErrForeign)
	}
	p, err := read(path)
	if err != nil || !p.Cluster.Is(s.Cluster) || p.Source.Document != s.Source.Document && s.Cluster.Name == "" {
		return true, fmt.Errorf("%s: %w; move it, or use another one with --out", path, ErrForeign)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != PlanFile && !slices.Contains(p.Files, e.Name()) {
			return true, fmt.Errorf("%s: %w only: it contains %s, which would be lost; move that, or use another folder with --out", path, ErrForeign, e.Name())
		}
	}
	if lost := p.Loses(s); err == nil && lost != "" && !replace {
		err = transform.NewError(transform.ExitRefused, fmt.Sprintf("%s: %s; use another folder with --out, or add --replace", path, lost))
	}
	return true, err
}

// Place returns where the plan of a cluster goes below the folder that the user
// named: its namespace and name, or its folder, file and number where it has no
// name: many a cluster is the cluster.yml of a folder.
// Kubernetes calls the namespace that is not named default.
func Place(s plan.Saved) string {
	namespace, name := cmp.Or(s.Cluster.Namespace, "default"), s.Cluster.Name
	if name == "" {
		base := filepath.Base(s.Source.File)
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(base, filepath.Ext(base)), s.Source.Document)
		if s.Source.Path != "" {
			name = filepath.Base(filepath.Dir(s.Source.Path)) + "-" + name
		}
	}
	if s.Upgrade != "" {
		name += ".to-" + s.Upgrade
	}
	return filepath.Join(sanitise(namespace), sanitise(name))
}

// Document names a document of a cluster that has several, by its kind and its name, or by its
// file where it is no object.
func Document(doc *yamledit.Document) string {
	kind, name := doc.Root().StringAt("kind"), doc.Root().StringAt("metadata", "name")
	if kind == "" && name == "" {
		return sanitise(strings.TrimSuffix(filepath.Base(doc.File()), filepath.Ext(doc.File())))
	}
	return sanitise(strings.TrimSuffix(strings.ToLower(kind)+"-"+name, "-"))
}

// unsafe is what a name cannot have that is one folder everywhere and not hidden.
var unsafe = regexp.MustCompile(`^\.|[^a-zA-Z0-9._-]`)

func sanitise(name string) string { return unsafe.ReplaceAllString(name, "-") }

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
	return yamledit.IndentedJSON(p)
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
