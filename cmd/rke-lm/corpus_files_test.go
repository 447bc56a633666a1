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

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
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
		f, err := readCorpusFile(folder, path)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readCorpusFile(folder, path string) (corpusFile, error) {
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return corpusFile{}, err
	}
	text, err := os.ReadFile(path)
	return corpusFile{filepath.ToSlash(name), text}, err
}

// corpusClusters is what a corpus holds of Rancher's provisioning API.
type corpusClusters struct {
	clusters  []*yamledit.Document
	fragments []*yamledit.Document // parts of a cluster, without its root
	refused   refusals             // what could be one of the two and does not parse
}

func readClusters(t *testing.T) *corpusClusters {
	t.Helper()
	found := &corpusClusters{}
	for _, f := range corpusFiles(t) {
		for _, c := range yamledit.Split(f.name, f.text) {
			if speaksOfClusters(c.Bytes) {
				found.add(c)
			}
		}
	}
	return found
}

var clusterWords = regexp.MustCompile(`provisioning\.cattle\.io/v1|rkeConfig|machineGlobalConfig|machineSelectorConfig`)

func speaksOfClusters(text []byte) bool { return clusterWords.Match(text) }

func (f *corpusClusters) add(c yamledit.Chunk) {
	doc, err := transform.Parse(c)
	switch {
	case err != nil:
		f.refused.add(err, "document")
	case rke2.IsCluster(doc):
		f.clusters = append(f.clusters, doc)
	case holdsPartOfCluster(doc.Root()):
		f.fragments = append(f.fragments, doc)
	}
}

// holdsPartOfCluster reports whether a key below n belongs to a cluster.
func holdsPartOfCluster(n yamledit.Node) bool {
	for _, e := range n.Entries() {
		if slices.Contains([]string{"rkeConfig", "machineGlobalConfig", "machineSelectorConfig"}, e.Key) {
			return true
		}
	}
	return slices.ContainsFunc(n.Children(), holdsPartOfCluster)
}

func (f *corpusClusters) listFragments() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6d × fragment\n", len(f.fragments))
	for _, doc := range f.fragments {
		fmt.Fprintf(&b, "         %s\n", placeOf(doc))
	}
	return b.String()
}

// placeOf names a document by its file and the line of its root.
func placeOf(doc *yamledit.Document) string {
	return fmt.Sprintf("%s:%d", doc.File(), doc.Root().Line())
}

// refusals counts errors by their reasons.
type refusals struct {
	places map[string]map[string][]string // reason → placeOf → what was refused there
}

func (r *refusals) add(err error, what string) {
	reason, at := reasonOf(err)
	if r.places == nil {
		r.places = map[string]map[string][]string{}
	}
	if r.places[reason] == nil {
		r.places[reason] = map[string][]string{}
	}
	r.places[reason][at] = append(r.places[reason][at], what)
}

// reasonOf takes an error apart, and leaves out of its reason what differs from
// file to file.
func reasonOf(err error) (reason, at string) {
	var known *yamledit.Error
	if !errors.As(err, &known) {
		return err.Error(), "nowhere"
	}
	reason = known.What
	for _, p := range particulars {
		reason = p.form.ReplaceAllString(reason, p.instead)
	}
	if refused := (*transform.Refused)(nil); errors.As(err, &refused) {
		reason = refused.Rule + ": " + reason
	}
	return reason, fmt.Sprintf("%s:%d", known.File, known.Line)
}

var particulars = []struct {
	form    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^[\w-]+(\.[\w-]+|\[\d+\])*: `), ""}, // a path
	{regexp.MustCompile(`"[^"]*"`), `"…"`},
	{regexp.MustCompile(`of class \S+`), "of class …"},
	{regexp.MustCompile(`line \d+`), "line …"},
	{regexp.MustCompile(`\[\d+,\d+\) after \d+ of \d+`), "[…) after … of …"},
}

func (r *refusals) count() int {
	sum := 0
	for reason := range r.places {
		sum += r.countOf(reason)
	}
	return sum
}

func (r *refusals) countOf(reason string) int {
	sum := 0
	for _, what := range r.places[reason] {
		sum += len(what)
	}
	return sum
}

// report lists the reasons, the most frequent first, and the places of each.
func (r *refusals) report() string {
	reasons := slices.SortedFunc(maps.Keys(r.places), func(a, b string) int {
		return cmp.Or(r.countOf(b)-r.countOf(a), strings.Compare(a, b))
	})
	var b strings.Builder
	for _, reason := range reasons {
		fmt.Fprintf(&b, "%6d × %s\n", r.countOf(reason), reason)
		for _, at := range slices.Sorted(maps.Keys(r.places[reason])) {
			fmt.Fprintf(&b, "         %s: %s\n", at, strings.Join(r.places[reason][at], "; "))
		}
	}
	if len(reasons) == 0 {
		return "     0\n"
	}
	return b.String()
}
