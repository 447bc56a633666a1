// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"cmp"
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
	kind, _ := doc.Root().Get("kind").String()
	name, _ := doc.Root().Get("metadata", "name").String()
	if kind == "" && name == "" {
		return sanitise(strings.TrimSuffix(filepath.Base(doc.File()), filepath.Ext(doc.File())))
	}
	return sanitise(strings.TrimSuffix(strings.ToLower(kind)+"-"+name, "-"))
}

// unsafe is what a name cannot have that is one folder everywhere and not hidden.
var unsafe = regexp.MustCompile(`^\.|[^a-zA-Z0-9._-]`)

func sanitise(name string) string { return unsafe.ReplaceAllString(name, "-") }
