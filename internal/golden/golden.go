// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package golden reads and writes the golden cases below testdata/golden. Only tests use it, of packages two folders
// below the module.
//
// An archive is plain txtar. It holds one case, or several that belong together: input.yaml of rke1-values.txtar is of
// the case rke1-values, and crlf/input.yaml of the case rke1-values-crlf. What a test gives to the command comes first,
// and then what it prints.
//
// A member NAME,no-newline has its last newline removed. Of a member NAME,quoted the first byte of each
// line is removed, which is >: it has lines that would begin a member.
//
// Invariant: what is read are the bytes that were written, all of them. What would not be is not written.
package golden

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Case is a golden case: the inputs of a test, and the output that it expects, by name.
type Case struct {
	Name  string
	Files map[string]string

	archive, folder string // where it is stored
}

// isMain reports whether a file is the one that its case is about.
func isMain(name string) bool { return name == "dump.yaml" || strings.HasPrefix(name, "input.") }

// isInput reports whether a file of a case is given to the command, and not printed by it.
func isInput(name string) bool {
	return isMain(name) || slices.Contains([]string{"flags", "kustomization.yaml", "values.yaml", "release.yaml", "change.diff"}, name)
}

// Input returns the name of the file that the case is about.
func (c Case) Input() string {
	for name := range c.Files {
		if isMain(name) {
			return name
		}
	}
	return ""
}

// Text returns the input.
func (c Case) Text() string { return c.Files[c.Input()] }

// Flags are for every command that gets the input.
func (c Case) Flags() []string { return strings.Fields(c.Files["flags"]) }

// Outputs are the files that the command has to print.
func (c Case) Outputs() map[string]string { return c.only(false) }

// only are the inputs of the case, or its outputs.
func (c Case) only(inputs bool) map[string]string {
	files := maps.Clone(c.Files)
	maps.DeleteFunc(files, func(name, _ string) bool { return isInput(name) != inputs })
	return files
}

// With is the case with other outputs.
func (c Case) With(outputs map[string]string) Case {
	files := c.only(true)
	maps.Copy(files, outputs)
	c.Files = files
	return c
}

// LayOut writes the inputs into a folder of the test that has the name of the case.
func (c Case) LayOut(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), c.Name)
	err := os.Mkdir(folder, 0o755)
	for name, text := range c.only(true) {
		err = cmp.Or(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// top is where the archives are; it is found before a test changes the folder.
var top, errTop = filepath.Abs("../../testdata/golden")

// stored are all cases.
var stored = sync.OnceValues(func() ([]Case, error) {
	archives, err := filepath.Glob(filepath.Join(top, "*.txtar"))
	if err = cmp.Or(errTop, err); err != nil {
		return nil, err
	}
	var cases []Case
	for _, archive := range archives {
		packed, err := os.ReadFile(archive)
		if err != nil {
			return nil, err
		}
		some, err := unpack(strings.TrimSuffix(filepath.Base(archive), ".txtar"), packed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		cases = append(cases, some...)
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, nil
})

// Inputs returns the cases whose names begin with one of these, in their order.
func Inputs(t testing.TB, prefixes ...string) []Case {
	t.Helper()
	all, err := stored()
	if err != nil {
		t.Fatal(err)
	}
	some := slices.DeleteFunc(slices.Clone(all), func(c Case) bool {
		return len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.Name, p) })
	})
	if len(some) == 0 {
		t.Fatalf("no golden cases %s", strings.Join(prefixes, ", "))
	}
	return some
}

// Input returns a case.
func Input(t testing.TB, name string) Case {
	t.Helper()
	for _, c := range Inputs(t, name) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no golden case %s", name)
	return Case{}
}

// What is said of a member after its name.
const (
	noNewline = ",no-newline"
	quoted    = ",quoted"
)

// likeMarker is a line that begins a member, or that the library takes for one.
var likeMarker = regexp.MustCompile(`(?m)^-- .*--\r?$`)

// member is a file of an archive that can hold any bytes.
func member(name, text string) (f txtar.File, err error) {
	f = txtar.File{Name: name, Data: []byte(text)}
	if len(text) > 0 && !strings.HasSuffix(text, "\n") {
		f = txtar.File{Name: name + noNewline, Data: append(f.Data, '\n')}
	}
	if likeMarker.Match(f.Data) {
		f.Name += quoted
		f.Data, err = txtar.Quote(f.Data)
	}
	return f, err
}

// content returns the name and the bytes of a file from its member.
func content(f txtar.File) (name, text string, err error) {
	name, isQuoted := strings.CutSuffix(f.Name, quoted)
	if isQuoted {
		f.Data, err = txtar.Unquote(f.Data)
	}
	name, cut := strings.CutSuffix(name, noNewline)
	if cut {
		f.Data = bytes.TrimSuffix(f.Data, []byte("\n"))
	}
	return name, string(f.Data), err
}

// unpack returns the cases of an archive, in the order of their folders.
func unpack(archive string, packed []byte) ([]Case, error) {
	cases := map[string]Case{} // by folder
	for _, f := range txtar.Parse(packed).Files {
		name, text, err := content(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		folder, file, deep := strings.Cut(name, "/")
		if !deep {
			folder, file = "", name
		}
		c, known := cases[folder]
		if !known {
			c = Case{strings.TrimSuffix(archive+"-"+folder, "-"), map[string]string{}, archive, folder}
			cases[folder] = c
		}
		if _, twice := c.Files[file]; twice {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		c.Files[file] = text
	}
	return slices.SortedFunc(maps.Values(cases), byFolder), nil
}

func byFolder(a, b Case) int { return strings.Compare(a.folder, b.folder) }

// pack is the archive of cases. What it stores is read again, and has to be the same.
func pack(cases []Case) ([]byte, error) {
	var a txtar.Archive
	slices.SortFunc(cases, byFolder)
	for _, c := range cases {
		for _, name := range slices.SortedFunc(maps.Keys(c.Files), byOrder) {
			f, err := member(strings.TrimPrefix(c.folder+"/"+name, "/"), c.Files[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			a.Files = append(a.Files, f)
		}
	}
	packed := txtar.Format(&a)
	again, err := unpack(cases[0].archive, packed)
	if err == nil && !slices.EqualFunc(again, cases, func(a, b Case) bool { return maps.Equal(a.Files, b.Files) }) {
		err = errors.New("what is stored would not be read as what it was")
	}
	return packed, err
}

// byOrder compares the names of members: inputs come first.
func byOrder(a, b string) int {
	rank := func(name string) int {
		switch {
		case isMain(name):
			return 0
		case isInput(name):
			return 1
		}
		return 2
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// Write stores these cases, next to the others of their archives.
func Write(t testing.TB, changed []Case) {
	t.Helper()
	now := map[string]Case{}
	of := map[string][]Case{} // archives that change
	for _, c := range changed {
		now[c.Name], of[c.archive] = c, nil
	}
	for _, c := range Inputs(t) {
		if _, changes := of[c.archive]; changes {
			if other, is := now[c.Name]; is {
				c = other
			}
			of[c.archive] = append(of[c.archive], c)
		}
	}
	for archive, cases := range of {
		packed, err := pack(cases)
		if err == nil {
			err = Replace(archive+".txtar", packed)
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
	}
}

// Stored returns a file of the folder; nothing for one that is not there.
func Stored(name string) string {
	text, _ := os.ReadFile(filepath.Join(top, name))
	return string(text)
}

// Replace writes a file of the folder that has other bytes.
func Replace(name string, text []byte) error {
	if Stored(name) == string(text) {
		return nil
	}
	return os.WriteFile(filepath.Join(top, name), text, 0o644)
}
