// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/internal/files"
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
	real = files.Real(folder)
	for dir := real; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, real
		}
		if dir == filepath.Dir(dir) {
			return "", real
		}
	}
}

// File is a file of a commit, or of the working tree.
type File struct {
	Path string // in the repository, with slashes
	Hash string // of its bytes; "" for one of the working tree
	mode string
}

const submodule = "160000"

// Kind is "" for a file that holds text of its own, and names what else it is.
func (f File) Kind() string {
	switch {
	case strings.HasPrefix(f.mode, "100"):
		return ""
	case f.mode == submodule:
		return "submodule"
	}
	return "symbolic link"
}

// Change is a file before and after; one of them is nil for a file that is added or
// removed. A file that was renamed has both. Links and submodules are files here.
type Change struct{ Before, After *File }

// Changes lists the files that differ between a commit and another one, or with "" the
// working tree, with files there that git does not know yet and does not ignore.
func (r *Repository) Changes(ctx context.Context, from, to string) ([]Change, error) {
	args := []string{"diff", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=dirty", from}
	if to != "" {
		args = append(args, to)
	}
	out, err := r.git(ctx, append(args, "--")...)
	if err != nil {
		return nil, err
	}
	changes, err := parseRaw(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), to == "")
	if err != nil || to != "" {
		return changes, err
	}
	out, err = r.git(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	for p := range strings.SplitSeq(string(out), "\x00") {
		if p != "" {
			changes = append(changes, Change{After: &File{Path: strings.TrimSuffix(p, "/"), mode: r.modeOf(p)}})
		}
	}
	return changes, err
}

// modeOf is what git would make of a file that it does not know yet; a repository ends in a slash.
func (r *Repository) modeOf(name string) string {
	if _, err := os.Readlink(filepath.Join(r.top, name)); err == nil {
		return "120000"
	} else if strings.HasSuffix(name, "/") {
		return submodule
	}
	return "100644"
}

// parseRaw reads what git diff --raw -z prints: for each file its modes, hashes and
// status, and its path, or both where it was renamed.
func parseRaw(fields []string, workTree bool) ([]Change, error) {
	var changes []Change
	for i := 0; i < len(fields) && fields[i] != ""; {
		info := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		paths := 1
		if len(info) == 5 && strings.ContainsAny(info[4][:1], "RC") {
			paths = 2
		}
		if len(info) != 5 || i+paths >= len(fields) {
			return nil, errors.New("git diff --raw: its output has another form than expected; report this as a bug of rke-lm, with the version of git")
		}
		was, is := fields[i+1], fields[i+paths]
		i += 1 + paths
		if info[4] == "U" {
			return nil, fmt.Errorf("%s: a merge is in progress and the file has conflicts; resolve them first", is)
		}
		c := Change{&File{was, info[2], info[0]}, &File{is, info[3], info[1]}}
		if workTree {
			c.After.Hash = ""
		}
		switch info[4] {
		case "A":
			c.Before = nil
		case "D":
			c.After = nil
		}
		changes = append(changes, c)
	}
	return changes, nil
}
