// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
)

// rewrite are the flags of verbs that write files.
type rewrite struct {
	*options
	files  clusters.Rewriter
	server bool // the server does the dry run
}

func (w *rewrite) rewriteFlags(c *cobra.Command) {
	c.Flags().Var(dryRunFlag{w}, "dry-run", "print the diff and write nothing; =server also lets the API server of a Rancher check the change")
	c.Flags().Lookup("dry-run").NoOptDefVal = "true"
	c.Flags().BoolVar(&w.files.Print, "stdout", false, "print the file instead of writing it")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
	w.verboseFlag(c.Flags(), "")
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

// show shows the diffs of a dry run.
func (w *rewrite) show(e run.Edit) {
	for _, d := range e.Diffs {
		report.WriteDiff(w.Out, w.Palette, d)
	}
}

// write writes files that end together, with the edits of their clusters, unless one failed in a part.
func (w *rewrite) write(texts []source.Text, edits map[string][]run.Edit, failed bool, all *report.Collector) error {
	var changes []clusters.Change
	for _, t := range texts {
		for _, e := range edits[t.Name] {
			changes = append(changes, e.Changes...)
		}
	}
	var files []clusters.File
	of := "it"
	if len(texts) > 1 {
		of = "the files of its cluster"
	}
	for _, t := range texts {
		f := clusters.File{Text: t}
		for _, c := range changes {
			if c.Before.File == t.Name {
				f.Changes = append(f.Changes, c)
			}
		}
		if files = append(files, f); failed && len(f.Changes) > 0 {
			fmt.Fprintf(w.Err, "%s: not written, because of errors in %s\n", f.Name, of)
		}
	}
	if failed {
		return nil
	}
	if err := w.files.Write(files); err != nil {
		return err
	}
	for _, f := range files {
		if len(f.Changes) > 0 && !w.files.Prints(f.Text) {
			all.FileBecame(w.written(f.Text))
		}
	}
	for _, t := range texts {
		for _, e := range edits[t.Name] {
			if len(e.Changes) > 0 {
				all.Became(report.Outcome{Name: e.Name, What: e.What + " " + w.written(t)})
			}
		}
	}
	return nil
}

// written is what became of a file that did not fail.
func (w *rewrite) written(f source.Text) string {
	switch {
	case w.files.DryRun:
		return "would be written"
	case w.files.Prints(f):
		return "printed"
	}
	return "written"
}
