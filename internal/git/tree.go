// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Tree is the files of a version, by their path.
type Tree map[string]File

// Tree returns the files of a commit, those at some paths or all.
func (r *Repository) Tree(ctx context.Context, commit string, paths ...string) (Tree, error) {
	out, err := r.git(ctx, append([]string{"ls-tree", "-r", "-z", "--full-tree", commit, "--"}, paths...)...)
	t := Tree{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		info, p, found := strings.Cut(line, "\t")
		if parts := strings.Fields(info); found && len(parts) == 3 {
			t[p] = File{p, parts[2], parts[0]}
		}
	}
	return t, err
}

// Changed is the tree after changes.
func (t Tree) Changed(changes []Change) Tree {
	after := maps.Clone(t)
	for _, c := range changes {
		if c.Before != nil {
			delete(after, c.Before.Path)
		}
	}
	for _, c := range changes {
		if c.After != nil {
			after[c.After.Path] = *c.After
		}
	}
	return after
}

// Target is the path that a link leads to; "" for one outside of the repository.
func (r *Repository) Target(link File) string {
	to, err := os.Readlink(filepath.Join(r.top, link.Path))
	if link.Hash != "" {
		var text []byte
		text, err = r.Read(link, 4096) // the longest path of Linux
		to = string(text)
	}
	at := path.Join(path.Dir(link.Path), filepath.ToSlash(to))
	if err != nil || filepath.IsAbs(to) || strings.HasPrefix(at, "..") {
		return ""
	}
	return at
}

// Top returns the top of the repository around a folder, "" for none, and the folder without links. It
// does not need git: a repository is seen by its .git, which is a file in a worktree.
func Top(folder string) (top, real string) {
	if at, err := filepath.Abs(folder); err == nil {
		folder = at
	}
	if at, err := filepath.EvalSymlinks(folder); err == nil {
		folder = at
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, folder
		}
		if dir == filepath.Dir(dir) {
			return "", folder
		}
	}
}
