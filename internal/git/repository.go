// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads commits of a repository, through the git binary.
//
// Invariant: nothing of the repository is written, fetched or checked out: not the index, not the
// working tree. What is read of a commit are the bytes that were committed. git gets a directory
// of ours in the place of the one that has the configuration, hooks and remotes, and reads the first only
// to find out where that is: nothing that a repository or its user configures is started, also by a git
// that ignores the settings which forbid it.
package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
func (r *Repository) Commit(ref string) (string, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	line, _, more := strings.Cut(ref, "\n") // a second line is another question
	hash, _, err := r.objects.find("info", line+"^{commit}", "commit")
	if err != nil || more {
		return "", fmt.Errorf("%s: no such commit in this clone; fetch it first, in a CI system with its whole history (fetch-depth: 0)", ref)
	}
	return hash, nil
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
		rel, err := filepath.Rel(r.dir, files.Real(name))
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

// reader is a git that answers for one object after the other.
type reader struct {
	*exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// start starts the reader of the repository.
func (r *Repository) start(ctx context.Context) error {
	c := r.command(ctx, "cat-file", "--batch-command")
	in, err := c.StdinPipe()
	out, failed := c.StdoutPipe()
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	r.objects = reader{c, in, bufio.NewReader(out)}
	return c.Start()
}

// find asks for the hash and the size of an object of a kind, or for its bytes, which follow the answer.
func (r reader) find(question, object, kind string) (hash string, size int, err error) {
	fmt.Fprintf(r.ask, "%s %s\n", question, object) // without a reader there is no answer
	line, err := r.answers.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("git cat-file has ended: %w", err)
	}
	parts := strings.Fields(line)
	if len(parts) != 3 || parts[1] != kind {
		return "", 0, errors.New("its bytes are not in this clone; fetch them first")
	}
	size, err = strconv.Atoi(parts[2])
	return parts[0], size, err
}

// ErrUnread means that the bytes of a file that a commit has are not to be had.
var ErrUnread = errors.New("cannot read it")

// Read returns the bytes of a file of a commit. One larger than most is refused before a byte of it is
// read. It may be used by several goroutines.
func (r *Repository) Read(f File, most int) ([]byte, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	_, size, err := r.objects.find("info", f.Hash, "blob")
	if err == nil && size > most {
		err = fmt.Errorf("has %d bytes, more than the %d that are read; make it smaller, or exclude it", size, most)
	}
	if err == nil {
		_, size, err = r.objects.find("contents", f.Hash, "blob")
	}
	text := make([]byte, size+1) // a line break follows
	if err == nil {
		_, err = io.ReadFull(r.objects.answers, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.Name(f.Path), ErrUnread, err)
	}
	return text[:size], nil
}
