// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// folderOf writes files to a folder of their own, and returns it.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// checkContent fails unless a file holds a text.
func checkContent(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.Truef(t, err == nil && string(text) == want, "%s holds %q, not %q; %v", path, text, want, err)
}

// changed are files with a new text each, in the order given, which is that of the stages that change them.
func changed(t *testing.T, paths ...string) (list []File) {
	t.Helper()
	for i, path := range paths {
		text := assert.Value(os.ReadFile(path))(t)
		info := assert.Value(os.Stat(path))(t)
		list = append(list, File{
			Text:    source.Text{Source: source.Source{Name: path, Path: path}, Bytes: text, Info: info},
			Changes: change(t, path, string(text), "new: "+filepath.Base(path)+"\n", i),
		})
	}
	return list
}

func change(t *testing.T, file, before, after string, first int) []Change {
	t.Helper()
	chunk := func(text string) yamledit.Chunk { return assert.Value(yamledit.ParseString(file, text))(t).Chunk() }
	return []Change{{chunk(before), chunk(after), first}}
}

func TestFilesAreWrittenInTheOrderOfTheStagesThatChangeThem(t *testing.T) {
	for _, second := range []os.FileMode{0o600, 0o400} { // one that cannot be written shows that it is the second
		folder := folderOf(t, map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "c.yaml": "c: 1\n"})
		a, b, c := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml"), filepath.Join(folder, "c.yaml")
		assert.NilError(t, os.Chmod(a, second))
		list := changed(t, c, a)
		same := File{Text: source.Text{Source: source.Source{Name: b, Path: b}, Info: assert.Value(os.Stat(b))(t)}}
		err := new(Rewriter).Write([]File{list[1], same, list[0]})
		checkContent(t, b, "b: 1\n")
		checkContent(t, c, "new: c.yaml\n")
		if second == 0o600 {
			assert.NilError(t, err)
			checkContent(t, a, "new: a.yaml\n")
		} else {
			assert.ErrorContains(t, err, c+": written; "+a+": not written")
			checkContent(t, a, "a: 1\n")
		}
	}
}

func TestNoFileOfAClusterIsWrittenWhereAnotherOneChanged(t *testing.T) {
	folder := folderOf(t, map[string]string{"ccm.yaml": "a: 1\n", "kcm.yaml": "b: 1\n"})
	w := &Rewriter{}
	list := changed(t, filepath.Join(folder, "ccm.yaml"), filepath.Join(folder, "kcm.yaml"))
	assert.NilError(t, os.WriteFile(filepath.Join(folder, "kcm.yaml"), []byte("b: 1\n# edited meanwhile\n"), 0o600))
	err := w.Write(list)
	assert.True(t, errors.Is(err, files.ErrChanged), err)
	checkContent(t, filepath.Join(folder, "ccm.yaml"), "a: 1\n")
}

func TestAWriteThatFailsInTheMiddleNamesWhatWasWritten(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "c.yaml": "c: 1\n"})
	w := &Rewriter{}
	a, b, c := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml"), filepath.Join(folder, "c.yaml")
	assert.NilError(t, os.Chmod(b, 0o400))
	err := w.Write(changed(t, a, b, c))
	assert.True(t, errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), a+": written; "+b+", "+c+": not written"), err)
	checkContent(t, a, "new: a.yaml\n")
	checkContent(t, b, "b: 1\n")
	checkContent(t, c, "c: 1\n")
	if err := w.Write(changed(t, b)); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "not written") {
		t.Errorf("where nothing was written before: %v", err)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	path := filepath.Join(folderOf(t, map[string]string{"a.yaml": "a: 1\n"}), "a.yaml")
	var out strings.Builder
	w := &Rewriter{DryRun: true, Out: &out}
	list := changed(t, path)
	err := w.Write(list)
	assert.Truef(t, err == nil && !w.Prints(list[0].Text) && out.Len() <= 0, "%v, %q", err, out.String())
	checkContent(t, path, "a: 1\n")
}

func TestPrintedFilesAreDocumentsOfTheirOwn(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
	var out strings.Builder
	w := &Rewriter{Print: true, Out: &out}
	a, b := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	list := changed(t, a, b)
	list[1].Changes = nil
	err := w.Write(list)
	assert.Truef(t, err == nil && out.String() == "new: a.yaml\n---\nb: 1\n", "%v, %q", err, out.String())
	checkContent(t, a, "a: 1\n")
}

func TestAStreamIsPrintedWithItsChanges(t *testing.T) {
	var out strings.Builder
	w := &Rewriter{Out: &out}
	f := File{source.Text{Source: source.FromReader(yamledit.Stdin, nil), Bytes: []byte("a: 1\n---\nb: 1\n")}, change(t, yamledit.Stdin, "a: 1\n", "a: 2\n", 0)}
	err := w.Write([]File{f})
	assert.Truef(t, err == nil && w.Prints(f.Text) && out.String() == "a: 2\n---\nb: 1\n", "%v, %q", err, out.String())
}

func TestFilesThatArePrintedAreSeparated(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"a: 1\n", "b: 1\n", "a: 1\n---\nb: 1\n"},
		{"a: 1", "b: 1", "a: 1\n---\nb: 1"},
		{"a: 1\n", "---\nb: 1\n", "a: 1\n---\nb: 1\n"},
		{"a: 1\n", "--- # b\nb: 1\n", "a: 1\n--- # b\nb: 1\n"},
		{"a: 1\n", "%YAML 1.2\n---\nb: 1\n", "a: 1\n...\n%YAML 1.2\n---\nb: 1\n"},
		{"", "b: 1\n", "b: 1\n"},
	} {
		var out strings.Builder
		var p Printer
		for _, text := range []string{c.first, c.second} {
			assert.NilError(t, p.Print(&out, []byte(text)))
		}
		assert.Truef(t, out.String() == c.want, "%q and %q: %q", c.first, c.second, out.String())
	}
}
