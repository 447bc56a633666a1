// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/source"
)

// rewrite are the flags of verbs that write files, and what to say of the files.
type rewrite struct {
	*options
	files  clusters.Rewriter
	server bool              // the server does the dry run
	notes  map[string][]line // by file; of its clusters, up to what became of the file
	made   outcomes
}

func (w *rewrite) flags(c *cobra.Command) {
	c.Flags().Var(dryRunFlag{w}, "dry-run", "print the diff and write nothing; =server also lets the API server of a Rancher check the change")
	c.Flags().Lookup("dry-run").NoOptDefVal = "true"
	c.Flags().BoolVar(&w.files.Print, "stdout", false, "print the file instead of writing it")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
	w.made.flag(c.Flags(), "")
}

// The values of --dry-run.
const (
	onClient = "client"
	onServer = "server"
)

// dryRunFlag is --dry-run, which needs no value: =client prints the diff, =server
// lets the API server do all but keep the change.
type dryRunFlag struct{ w *rewrite }

// Type is what help shows nothing for.
func (f dryRunFlag) Type() string { return "bool" }

func (f dryRunFlag) String() string {
	switch {
	case f.w == nil || !f.w.files.DryRun:
		return "false"
	case f.w.server:
		return onServer
	}
	return onClient
}

func (f dryRunFlag) Set(value string) error {
	switch value {
	case onClient, "true":
		f.w.files.DryRun, f.w.server = true, false
	case onServer:
		f.w.files.DryRun, f.w.server = true, true
	case "false", "none":
		f.w.files.DryRun, f.w.server = false, false
	default:
		return errors.New("use client or server")
	}
	return nil
}

// begin takes the streams of a run.
func (w *rewrite) begin() {
	w.made.out, w.made.of = w.err, "clusters"
	w.files.Out, w.notes = w.data(), map[string][]line{}
}

// note keeps what to say of a cluster once its files are written.
func (w *rewrite) note(file string, l line) {
	w.notes[file] = append(w.notes[file], l)
}

// write writes files that end together, unless one of them failed in a part.
func (w *rewrite) write(files []source.Text, failed bool) error {
	defer w.forget(files)
	if failed {
		w.notWritten(files)
		return nil
	}
	changed := slices.DeleteFunc(slices.Clone(files), func(f source.Text) bool { return !w.files.Changes(f) || w.files.Prints(f) })
	if err := w.files.Write(files); err != nil {
		return err
	}
	for _, f := range changed {
		w.made.file(w.outcome(f))
	}
	for _, f := range files {
		for _, l := range w.notes[f.Name] {
			w.made.cluster(line{l.name, l.what + " " + w.outcome(f)})
		}
	}
	return nil
}

func (w *rewrite) forget(files []source.Text) {
	w.files.Forget(files)
	for _, f := range files {
		delete(w.notes, f.Name)
	}
}

// notWritten reports which files stay as they are.
func (w *rewrite) notWritten(files []source.Text) {
	of := "it"
	if len(files) > 1 {
		of = "the files of its cluster"
	}
	for _, f := range files {
		if w.files.Changes(f) {
			fmt.Fprintf(w.err, "%s: not written, because of errors in %s\n", f.Name, of)
		}
	}
}

// outcome is what became of a file that did not fail.
func (w *rewrite) outcome(f source.Text) string {
	switch {
	case w.files.DryRun:
		return "would be written"
	case w.files.Prints(f):
		return "printed"
	}
	return "written"
}
