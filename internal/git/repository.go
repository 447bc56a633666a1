// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/temporary"
)

// Repository is the one around a folder.
type Repository struct {
	dir      string // the folder
	top      string // of the work tree
	prefix   string // of the folder in the work tree; "." at its top
	env      []string
	excludes string
	reading  *blobs // nil before the first file of a commit is read
	release  func() // removes the directory of ours
}

// oldest is the first release of git that has every option used here: an older one would ignore
// some (safe.bareRepository, cat-file --batch-command, GIT_CONFIG_GLOBAL).
const oldest = "v2.38"

// Open finds the repository around a folder by its .git, never by what a folder of it has: a commit
// can have all files of a bare repository.
func Open(ctx context.Context, dir string) (*Repository, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	top, is := Top(real)
	if !is {
		return nil, fmt.Errorf("%s: not a git repository, and in none; run review in the clone of one", dir)
	}
	rel, err := filepath.Rel(top, real)
	if err != nil {
		return nil, err
	}
	temporary.Clean(os.TempDir())
	at, lock, err := temporary.Folder(os.TempDir())
	if err != nil {
		return nil, err
	}
	r := &Repository{dir: real, top: top, prefix: filepath.ToSlash(rel), release: func() {
		os.RemoveAll(at)
		lock.Release()
	}}
	if err := r.imitate(ctx, at); err != nil {
		r.Close()
		return nil, fmt.Errorf("the repository in %s: %w", top, err)
	}
	return r, nil
}

// Close ends what reads the repository.
func (r *Repository) Close() {
	if r.reading != nil {
		r.reading.end()
	}
	r.release()
}

// Commit returns the name of the commit that a reference means.
func (r *Repository) Commit(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s: no such commit in this clone; fetch it first, in a CI system with its whole history (fetch-depth: 0)", ref)
	}
	return strings.TrimSpace(string(out)), nil
}

// MergeBase returns the commit at which two histories part.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.git(ctx, "merge-base", a, b)
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
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	rel, err := filepath.Rel(r.dir, name)
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

// command is one of git at the top of the work tree. Paths are meant as they are. Settings of the
// command line repeat what the directory of ours ensures by itself.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "--no-pager", "--literal-pathspecs", "-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.excludesFile=" + r.excludes}, args...)...)
	c.Dir, c.Env = r.top, r.env
	return c
}

// git runs a command that reads.
func (r *Repository) git(ctx context.Context, args ...string) ([]byte, error) {
	c := r.command(ctx, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
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

// number is that of a release of git, of which vendors add to the number.
var number = regexp.MustCompile(`^git version (\d+\.\d+)`)

// checkVersion refuses a git that would ignore an option.
func (r *Repository) checkVersion(ctx context.Context) error {
	out, err := r.git(ctx, "version")
	if err != nil {
		return err
	}
	m := number.FindStringSubmatch(string(out))
	if m == nil || semver.Compare("v"+m[1], oldest) < 0 {
		return fmt.Errorf("%s is too old: it ignores settings that keep a repository from starting programs; install git %s or later", strings.TrimSpace(string(out)), oldest[1:])
	}
	return nil
}
