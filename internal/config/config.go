// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package config reads the choices that a file holds in the place of flags.
//
// Invariant: a file is taken as a whole or not at all. A key that is not known, or
// a value of another kind than the flag takes, is an error with its line.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Kind is what a flag takes.
type Kind string

// The kinds of flags.
const (
	Text Kind = "a string"
	Bool Kind = "true or false"
	List Kind = "a list of strings"
)

// Name is that of the file which is used without being named, in the folder where rke-lm
// runs or in one around it, up to the top of the repository.
const Name = ".rke-lm.yaml"

// Read returns the settings of a file, in its order. known are the flags that it can
// set.
func Read(path string, known map[string]Kind) ([]review.Setting, error) {
	text, err := load(path)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = fmt.Errorf("%w; check the path and its permissions", at.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return Parse(path, text, known)
}

// MaxSize is that of the largest file that is read.
const MaxSize = 64 << 10

// load reads a regular file, and follows no link: a change could point it at any file of the machine.
func load(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file; replace the link by the file itself")
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("larger than %d kB, which no configuration is; make it smaller", MaxSize>>10)
	}
	return os.ReadFile(path)
}

// Parse returns the settings in a text.
func Parse(path string, text []byte, known map[string]Kind) ([]review.Setting, error) {
	doc, err := yamledit.Parse(yamledit.Chunk{File: path, Bytes: text})
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if root.Exists() && !root.IsMap() {
		return nil, root.Errorf("not a mapping of flags to values", "use lines such as end-state: external")
	}
	var settings []review.Setting
	for _, e := range root.Entries() {
		values, err := values(e, known)
		if err != nil {
			return nil, err
		}
		settings = append(settings, review.Setting{Key: e.Key, Values: values, Lines: linesOf(e.Value)})
	}
	return settings, nil
}

func linesOf(n yamledit.Node) []int {
	if !n.IsList() {
		return []int{n.Line()}
	}
	return lists.Map(n.Items(), yamledit.Node.Line)
}

func values(e yamledit.Entry, known map[string]Kind) ([]string, error) {
	kind, ok := known[e.Key]
	if !ok {
		return nil, e.Value.Errorf("not a migration option", args.Meant(e.Key, lists.Keys(known), "use the name of a migration option without dashes; plan --help lists them"))
	}
	switch v := e.Value.Value().(type) {
	case string:
		if kind == Text {
			return []string{v}, nil
		}
	case bool:
		if kind == Bool {
			return []string{strconv.FormatBool(v)}, nil
		}
	case []any:
		list := lists.Found(v, func(item any) (string, bool) { text, is := item.(string); return text, is })
		if len(list) == len(v) && kind == List {
			return list, nil
		}
	}
	do := "correct it"
	if kind == Text {
		do = "quote it"
	}
	return nil, e.Value.Errorf("this must be "+string(kind), do)
}

// Here returns the configuration file that counts in the current folder, from there: that of the folder, or of
// the nearest one around it up to the top of its repository; "" for none. Outside of a
// repository only the folder itself counts. A file in the home folder never does, whatever
// is below it: it would change what a plan of any repository means.
func Here() (string, error) {
	home, _ := os.UserHomeDir()
	top, here := git.Top(".")
	top = cmp.Or(top, here)
	for dir := here; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, Name)
		_, err := os.Lstat(path) // a link is refused when it is read
		switch {
		case err == nil && !sameFolder(dir, home):
			return filepath.Rel(here, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		case dir == top || dir == filepath.Dir(dir):
			return "", nil
		}
	}
}

func sameFolder(a, b string) bool {
	is, _ := os.Stat(a) // nil for an error, which is no file
	other, _ := os.Stat(b)
	return os.SameFile(is, other)
}
