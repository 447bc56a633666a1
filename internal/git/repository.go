// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/files"
)

// Repository is the one around a folder.
type Repository struct {
	dir     string // the folder
	top     string // of the work tree
	prefix  string // of the folder in the work tree; "." at its top
	env     []string
	objects reader
	reading sync.Mutex
	release func() // removes the directory of ours
}

// oldest is the first release of git that has every option used here: an older one would ignore
// some (safe.bareRepository, cat-file --batch-command, GIT_CONFIG_GLOBAL).
const oldest = "v2.38"

// Open finds the repository around a folder by its .git, never by what a folder of it has: a commit
// can have all files of a bare repository.
func Open(ctx context.Context, dir string) (*Repository, error) {
	top, real := Top(dir)
	if top == "" {
		return nil, fmt.Errorf("%s: not a git repository, and in none; run review in the clone of one", dir)
	}
	at, release, err := files.TemporaryFolder()
	if err != nil {
		return nil, err
	}
	prefix := path.Clean(strings.TrimLeft(filepath.ToSlash(real[len(top):]), "/"))
	r := &Repository{dir: real, top: top, prefix: prefix, release: release}
	if err = r.imitate(ctx, at); err == nil {
		err = r.start(ctx)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// Close ends what reads the repository.
func (r *Repository) Close() {
	r.objects.Process.Kill() // it only reads
	r.objects.Wait()
	r.release()
}

// imitate makes a directory in the place of what the work trees of the repository share. It has what
// names commits, and neither configuration nor hooks.
func (r *Repository) imitate(ctx context.Context, at string) error {
	r.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "GIT_") })
	r.env = append(r.env, "GIT_DIR="+filepath.Join(r.top, ".git"), "GIT_WORK_TREE="+r.top, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	version, err := r.git(ctx, "version")
	if err != nil {
		return err
	}
	if m := number.FindStringSubmatch(string(version)); m == nil || semver.Compare("v"+m[1], oldest) < 0 {
		return fmt.Errorf("%s is too old: it ignores settings that keep a repository from starting programs; install git %s or later", bytes.TrimSpace(version), oldest[1:])
	}
	out, err := r.git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format", "--show-ref-format")
	if err != nil {
		return err
	}
	lines := strings.Split(string(out), "\n")
	settings := "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = " + lines[1] + "\n"
	if lines[2] == "reftable" { // releases before 2.45 have files alone, and repeat the question
		settings += "\trefStorage = reftable\n"
	}
	r.env = append(r.env, "GIT_COMMON_DIR="+at, "GIT_OBJECT_DIRECTORY="+filepath.Join(lines[0], "objects"))
	return errors.Join(os.CopyFS(at, names{os.DirFS(lines[0])}), os.WriteFile(filepath.Join(at, "config"), []byte(settings), 0o600))
}

// number is that of a release of git, to which vendors add.
var number = regexp.MustCompile(`^git version (\d+\.\d+)`)

// names are the files of a git directory that name commits.
type names struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (n names) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(n.FS, name)
	if name == "." {
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool {
			return !slices.Contains([]string{"refs", "reftable", "packed-refs", "shallow", "info"}, e.Name())
		})
	}
	return list, err
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
	rel, _ := filepath.Rel(filepath.FromSlash("/"+r.prefix), filepath.FromSlash("/"+repoPath)) // both start at the top
	return rel
}

// Top is the folder of the work tree.
func (r *Repository) Top() string { return r.top }

// Path is the reverse of Name; false for one outside of the repository.
func (r *Repository) Path(name string) (string, bool) {
	if filepath.IsAbs(name) {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		rel, err := filepath.Rel(r.dir, name)
		if err != nil {
			return "", false
		}
		name = rel
	}
	p := path.Join(r.prefix, filepath.ToSlash(name))
	return p, p != ".." && !strings.HasPrefix(p, "../")
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
	c := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "--no-pager", "--literal-pathspecs", "-c", "safe.bareRepository=explicit",
		"-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
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
