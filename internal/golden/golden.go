// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package golden reads and writes the golden cases below testdata/golden. Only tests use it.
//
// A case is one txtar archive, CASE.txtar: the files that a test gives to the command, which are stored
// as they are, and what the command prints, where each fact is stored once.
//
//   - What many cases say alike is stored in texts.txtar; a case has its name: «switch-to-external/why».
//   - A document that a stage prints is stored as its diff to the one before it, and its SHA-256.
//   - A diff that plan.txt prints is stored there; others name it: «diff of switch-to-external».
//   - JSON is stored with each object on one line, where it fits.
//
// A member NAME,no-newline has its last newline removed. Of a member NAME,quoted the first byte of each
// line is removed, which is >: it has lines that would begin a member. NAME,diff is a stage's document.
//
// Invariant: what is read are the bytes that were written, all of them. What would not be is not written.
package golden

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// textsName is the archive of the texts. It is no case.
const textsName = "texts"

// Case is a golden case: the inputs of a test, and the output that it expects, by name.
type Case struct {
	Name  string
	Files map[string]string
}

// isInput reports whether a file of a case is given to the command, and not printed by it.
func isInput(name string) bool {
	return slices.Contains([]string{"flags", "kustomization.yaml", "values.yaml", "dump.yaml"}, name) || strings.HasPrefix(name, "input.")
}

// Input returns the name of the file that the case is about.
func (c Case) Input() string {
	for name := range c.Files {
		if name == "dump.yaml" || strings.HasPrefix(name, "input.") {
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
func (c Case) Outputs() map[string]string {
	out := map[string]string{}
	for name, text := range c.Files {
		if !isInput(name) {
			out[name] = text
		}
	}
	return out
}

// LayOut writes the inputs into a folder of the test that has the name of the case.
func (c Case) LayOut(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), c.Name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range c.Files {
		if !isInput(name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// top is where testdata/golden is; it is found before a test changes the folder.
var top, errTop = func() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		cases := filepath.Join(folder, "testdata", "golden")
		_, noModule := os.Stat(filepath.Join(folder, "go.mod"))
		_, noCases := os.Stat(cases) // modules of their own below have none
		if noModule == nil && noCases == nil {
			return cases, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("no module with testdata/golden above the test")
		}
		folder = filepath.Dir(folder)
	}
	return "", err
}()

// inputs holds all cases, without what they print.
var inputs = sync.OnceValues(func() ([]Case, error) {
	if errTop != nil {
		return nil, errTop
	}
	return readAll(top, func(text []byte) (map[string]string, error) { return unpackInputs(text) })
})

// Inputs returns the cases whose names begin with one of these, in their order, without what they print.
func Inputs(t testing.TB, prefixes ...string) []Case {
	t.Helper()
	all, err := inputs()
	if err != nil {
		t.Fatal(err)
	}
	var some []Case
	for _, c := range all {
		if len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.Name, p) }) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		t.Fatalf("no golden cases %s", strings.Join(prefixes, ", "))
	}
	return some
}

// Input returns a case, without what it prints.
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

// Read returns all of a case.
func Read(t testing.TB, name string) Case {
	t.Helper()
	texts, err := stored()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(top, name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := unpack(packed, texts)
	if err != nil {
		t.Fatalf("%s: %v; run: make golden", name, err)
	}
	return Case{name, files}
}

// stored holds the texts.
var stored = sync.OnceValues(func() (texts, error) { return readTexts(top) })

func readTexts(folder string) (texts, error) {
	packed, err := os.ReadFile(filepath.Join(folder, textsName+".txtar"))
	if errors.Is(err, os.ErrNotExist) {
		return newTexts(nil), nil
	}
	if err != nil {
		return texts{}, err
	}
	files, err := unarchive(packed)
	for name, text := range files {
		files[name] = strings.TrimSuffix(text, "\n")
	}
	return newTexts(files), err
}

func readAll(folder string, unpack func([]byte) (map[string]string, error)) ([]Case, error) {
	archives, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		if name == textsName {
			continue
		}
		packed, err := os.ReadFile(archive)
		if err != nil {
			return nil, err
		}
		files, err := unpack(packed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		cases = append(cases, Case{name, files})
	}
	return cases, nil
}

// Write stores these cases and what all say alike. A case of which one has only the inputs here needs
// nothing but them to be rewritten.
func Write(t testing.TB, changed []Case) {
	t.Helper()
	if errTop != nil {
		t.Fatal(errTop)
	}
	if err := write(top, changed); err != nil {
		t.Fatal(err)
	}
}

func write(folder string, changed []Case) error {
	old, err := readTexts(folder)
	if err != nil {
		return err
	}
	cases := map[string]Case{}
	for _, c := range changed {
		cases[c.Name] = c
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		if _, isNew := cases[name]; isNew || name == textsName {
			continue
		}
		packed, err := os.ReadFile(archive)
		if err != nil {
			return err
		}
		files, err := unpack(packed, old)
		if err != nil {
			return fmt.Errorf("%s: %w; rewrite it too: make golden", archive, err)
		}
		cases[name] = Case{name, files}
	}
	named := nameTexts(old, cases)
	for name, c := range cases {
		packed, err := pack(c.Files, named)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := replace(filepath.Join(folder, name+".txtar"), packed); err != nil {
			return err
		}
	}
	packed, err := named.archive()
	if err != nil {
		return err
	}
	return replace(filepath.Join(folder, textsName+".txtar"), packed)
}

// replace writes a file that has other bytes.
func replace(path string, text []byte) error {
	if is, err := os.ReadFile(path); err == nil && string(is) == string(text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644)
}
