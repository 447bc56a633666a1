// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/internal/git"
)

const (
	// mostFolders bounds a search; no repository comes near it.
	mostFolders = 100_000
	// levels is how far a search goes up where no repository ends it.
	levels = 3
	// MostText is the size of the largest kustomization or patch that is read.
	MostText = 1 << 20
)

// Disk is the files as they are now.
type Disk struct{}

// Top implements Version: it is the repository, or else a few levels up.
func (Disk) Top(folder string) string {
	if top, _ := git.Top(folder); top != "" {
		return top
	}
	top, temporary := folder, realPath(os.TempDir())
	home, _ := os.UserHomeDir()
	for range levels {
		folder = filepath.Dir(folder)
		if folder != filepath.Dir(folder) && folder != home && folder != temporary {
			top = folder
		}
	}
	return top
}

// Folders implements Version. What cannot be entered has no kustomization that can be read either.
func (Disk) Folders(top string) (all []string) {
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil
		case path != top && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case len(all) == mostFolders:
			return filepath.SkipAll
		}
		all = append(all, path)
		return nil
	})
	return all
}

// Real implements Version.
func (Disk) Real(path string) string { return realPath(path) }

// Has implements Version.
func (Disk) Has(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Read implements Version.
func (Disk) Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > MostText:
		return nil, errors.New("not a file of that kind")
	}
	return os.ReadFile(path)
}
