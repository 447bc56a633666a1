// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pointed returns the folder that a file names, as seen from the folder of the file.
func pointed(file, before string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	at, is := strings.CutPrefix(strings.TrimSpace(string(text)), before)
	if !is {
		return "", fmt.Errorf("%s: not the file of a work tree of git; clone the repository again", file)
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(filepath.Dir(file), at)
	}
	return at, nil
}

// directories returns the git directory of the work tree, and the one that it shares with others.
func (r *Repository) directories() (own, shared string, err error) {
	own = filepath.Join(r.top, ".git")
	if info, err := os.Stat(own); err != nil {
		return "", "", err
	} else if !info.IsDir() {
		if own, err = pointed(own, "gitdir: "); err != nil {
			return "", "", err
		}
	}
	shared, err = pointed(filepath.Join(own, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return own, own, nil
	}
	return own, shared, err
}

// imitate fills the directory of ours with what names commits: references, and where a shallow
// clone ends. Objects and the index are read in their places.
func (r *Repository) imitate(ctx context.Context, at string) error {
	own, shared, err := r.directories()
	if err != nil {
		return err
	}
	for _, folder := range []string{"refs", "reftable"} {
		err := os.CopyFS(filepath.Join(at, folder), os.DirFS(filepath.Join(shared, folder)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, from := range slices.Compact([]string{shared, own}) { // HEAD is that of the work tree
		if err := copyNames(at, from); err != nil {
			return err
		}
	}
	r.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "GIT_") })
	r.env = append(r.env, "GIT_DIR="+at, "GIT_WORK_TREE="+r.top, "GIT_OBJECT_DIRECTORY="+filepath.Join(shared, "objects"), "GIT_INDEX_FILE="+filepath.Join(own, "index"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	r.excludes = filepath.Join(shared, "info", "exclude")
	return r.configure(ctx, at, filepath.Join(shared, "config"))
}

// copyNames copies the files that name commits, or parts of an index.
func copyNames(to, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasSuffix(name, "HEAD") && !strings.HasPrefix(name, "sharedindex.") && name != "packed-refs" && name != "shallow" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// formats are the settings that the directory of ours has as well: how objects, references and the
// files of this machine are written. Their values are words, and none names a program or a file.
var formats = regexp.MustCompile(`^(extensions|core)\.(objectformat|refstorage|autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)\n([A-Za-z0-9]+)$`)

// configure writes the configuration of the directory of ours.
func (r *Repository) configure(ctx context.Context, at, of string) error {
	text := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
	if err := os.WriteFile(filepath.Join(at, "config"), []byte(text), 0o600); err != nil {
		return err
	}
	if err := r.checkVersion(ctx); err != nil {
		return err
	}
	out, err := r.git(ctx, "config", "--list", "-z", "--no-includes", "--file", of)
	for setting := range strings.SplitSeq(string(out), "\x00") {
		if m := formats.FindStringSubmatch(setting); m != nil {
			text += fmt.Sprintf("[%s]\n\t%s = %s\n", m[1], m[2], m[3])
		}
	}
	return errors.Join(err, os.WriteFile(filepath.Join(at, "config"), []byte(text), 0o600))
}
