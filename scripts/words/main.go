// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Words fails where a text of the project has a word that the word list of CONTRIBUTING.md replaces: in documents,
// messages, tests, comments and names. The list there is the only one.
//
// Usage: words [-count] [ROOT]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

const listFile = "CONTRIBUTING.md"

func main() {
	count := flag.Bool("count", false, "print the number of findings of each kind of text and exit with 0")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	found, err := checkTree(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if *count {
		printCounts(os.Stdout, found)
		return
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// checkTree reads the list of a repository and checks every file of it.
func checkTree(root string) ([]finding, error) {
	text, err := os.ReadFile(filepath.Join(root, listFile))
	if err != nil {
		return nil, err
	}
	list, err := readList(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listFile, err)
	}
	files, err := textFiles(root)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		passages, err := passagesOf(file, source)
		if err != nil {
			return nil, err
		}
		for _, p := range passages {
			found = append(found, list.check(file, p)...)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return found, nil
}

func printCounts(out io.Writer, found []finding) {
	counts := map[kind]int{}
	for _, f := range found {
		counts[f.kind]++
	}
	for _, k := range kinds {
		fmt.Fprintf(out, "%-10s %d\n", k, counts[k])
	}
}
