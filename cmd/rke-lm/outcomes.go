// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// line is what became of a cluster, after its name: "harbour.yaml: fleet-default/harbour: ",
// "grant-migration-lease written". The zero line is not printed.
type line struct{ name, what string }

func (l line) String() string { return l.name + l.what }

// outcomes are what became of the clusters of a run. With --verbose each has its line as soon as
// it is known; else those of the same outcome have one in common, at the end of the run: memory
// does not depend on their number, and one cluster, or the only one of its outcome, is named.
type outcomes struct {
	verbose bool
	out     io.Writer
	of      string // what has an outcome: clusters, or plans
	number  int    // of clusters
	lines   []*sameOutcome
	files   []*sameOutcome
}

// sameOutcome is that of clusters, or of files, that had the same one.
type sameOutcome struct {
	line // of the first
	n    int
}

func (o *outcomes) flag(f *pflag.FlagSet, with string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, with+"print a line for each cluster, not one for all with the same result")
}

func (o *outcomes) cluster(l line) {
	switch {
	case l == line{}:
		return
	case o.verbose:
		fmt.Fprintln(o.out, l)
	default:
		o.lines = counting(o.lines, l)
	}
	o.number++
}

// file counts a file of clusters.
func (o *outcomes) file(what string) { o.files = counting(o.files, line{what: what}) }

func counting(list []*sameOutcome, l line) []*sameOutcome {
	for _, same := range list {
		if same.what == l.what {
			same.n++
			return list
		}
	}
	return append(list, &sameOutcome{l, 1})
}

// finish prints what was not printed. Of several clusters the files are counted as well.
func (o *outcomes) finish() {
	for _, l := range o.lines {
		if l.n == 1 {
			fmt.Fprintln(o.out, l)
			continue
		}
		fmt.Fprintf(o.out, "%d %s: %s\n", l.n, o.of, l.what)
	}
	if o.number > 1 {
		for _, l := range o.files {
			fmt.Fprintf(o.out, "files %s: %d\n", l.what, l.n)
		}
	}
}
