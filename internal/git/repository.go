// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Repository is the one around a folder.
type Repository struct {
	dir    string // where git is run: the folder
	prefix string // of the folder in the repository; "" at its top
}

// Open finds the repository around a folder.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	out, err := r.git(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	r.prefix = path.Clean(strings.TrimSuffix(string(out), "\n"))
	return r, nil
}

// Commit returns the name of the commit that a reference means.
func (r *Repository) Commit(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s: no such commit in this clone; fetch it first, in a CI system with its whole history (fetch-depth: 0)", ref)
	}
	return strings.TrimSpace(string(out)), nil
}

// MergeBase returns the commit at which two histories part.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.git(ctx, nil, "merge-base", a, b)
	if err != nil {
		return "", fmt.Errorf("%.12s and %.12s have no common commit in this clone; fetch the whole history (fetch-depth: 0)", a, b)
	}
	return strings.TrimSpace(string(out)), nil
}

// Name is how messages call a path of the repository: as seen from the folder.
func (r *Repository) Name(repoPath string) string {
	rel, err := filepath.Rel(filepath.FromSlash("/"+r.prefix), filepath.FromSlash("/"+repoPath))
	if err != nil {
		return repoPath
	}
	return rel
}

// Path is the reverse of Name; false for one outside of the repository.
func (r *Repository) Path(name string) (string, bool) {
	if filepath.IsAbs(name) {
		return r.absolute(name)
	}
	p := path.Join(r.prefix, filepath.ToSlash(name))
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

func (r *Repository) absolute(name string) (string, bool) {
	here, err := filepath.Abs(r.dir)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	rel, err := filepath.Rel(here, name)
	if err != nil {
		return "", false
	}
	return r.Path(rel)
}

// Above lists the folders of the repository from the own one up to the top.
func (r *Repository) Above() []string {
	folders := []string{r.prefix}
	for dir := r.prefix; dir != "."; {
		dir = path.Dir(dir)
		folders = append(folders, dir)
	}
	return folders
}

// git runs a command that reads. Paths are meant as they are, and no program of the
// repository's configuration is started.
func (r *Repository) git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir, "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed, and review reads commits through it; install git")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	return nil, fmt.Errorf("git %s: %s", args[0], strings.TrimPrefix(line, "fatal: "))
}
