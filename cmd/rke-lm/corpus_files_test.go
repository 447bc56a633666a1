// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// corpusFile is one file, named from the folder of the corpus on.
type corpusFile struct {
	name string
	text []byte
}

// corpusFiles reads the folder that RKE_LM_CORPUS names, but not the index at
// its top.
func corpusFiles(t *testing.T) []corpusFile {
	t.Helper()
	folder := os.Getenv("RKE_LM_CORPUS")
	if folder == "" {
		t.Skip("RKE_LM_CORPUS is not set; it names the folder of a corpus")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the folder that RKE_LM_CORPUS names cannot be read")
	}
	var files []corpusFile
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Dir(path) == filepath.Clean(folder) {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		text, err := os.ReadFile(path)
		files = append(files, corpusFile{filepath.ToSlash(name), text})
		return err
	})
	assert.NilError(t, err)
	return files
}

// placeOf names a document by its file and the line of its root.
func placeOf(doc *yamledit.Document) string {
	return fmt.Sprintf("%s:%d", doc.File(), doc.Root().Line())
}

// refusals are errors by their reasons: reason → place: what was refused there.
type refusals map[string][]string

func (r *refusals) add(err error, what string) {
	if *r == nil {
		*r = refusals{}
	}
	reason, at := reasonOf(err)
	(*r)[reason] = append((*r)[reason], at+": "+what)
}

// reasonOf takes an error apart, and leaves out of its reason what differs from
// file to file.
func reasonOf(err error) (reason, at string) {
	var known *yamledit.Error
	if !errors.As(err, &known) {
		return err.Error(), "nowhere"
	}
	reason = particular.ReplaceAllString(known.What, "…")
	if refused := (*transform.Refused)(nil); errors.As(err, &refused) {
		reason = refused.Rule + ": " + reason
	}
	return reason, fmt.Sprintf("%s:%d", known.File, known.Line)
}

// particular is what differs from file to file: a path, a value, a class, a number.
var particular = regexp.MustCompile(`^[\w-]+(\.[\w-]+|\[\d+\])*: |"[^"]*"|of class \S+|\d+`)

func (r refusals) count() (sum int) {
	for _, places := range r {
		sum += len(places)
	}
	return sum
}

// report lists the reasons, the most frequent first, and the places of each.
func (r refusals) report() string {
	var b strings.Builder
	for _, reason := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return cmp.Or(len(r[b])-len(r[a]), strings.Compare(a, b)) }) {
		slices.Sort(r[reason])
		fmt.Fprintf(&b, "%6d × %s\n         %s\n", len(r[reason]), reason, strings.Join(slices.Compact(r[reason]), "\n         "))
	}
	return b.String()
}
