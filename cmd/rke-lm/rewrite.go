// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/atomicfile"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rewrite writes files anew, one after the other, each with all of its changes
// or not at all: in place, or to standard output, or nowhere.
type rewrite struct {
	*options
	dryRun   bool
	server   bool // the server does the dry run
	toStdout bool
	stdin    atomicfile.Spool // what was read from standard input, to write it again
	parts    atomicfile.Parts // of the file in work
	notes    []string         // what to say of them, up to what became of the file
	printed  separator
}

func (w *rewrite) flags(c *cobra.Command) {
	c.Flags().Var(dryRunFlag{w}, "dry-run", "print the diff and write nothing; =server also lets the API server of a Rancher check the change")
	c.Flags().Lookup("dry-run").NoOptDefVal = "true"
	c.Flags().BoolVar(&w.toStdout, "stdout", false, "print the file instead of writing it")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
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
	case f.w == nil || !f.w.dryRun:
		return "false"
	case f.w.server:
		return onServer
	}
	return onClient
}

func (f dryRunFlag) Set(value string) error {
	switch value {
	case onClient, "true":
		f.w.dryRun, f.w.server = true, false
	case onServer:
		f.w.dryRun, f.w.server = true, true
	case "false", "none":
		f.w.dryRun, f.w.server = false, false
	default:
		return errors.New("use client or server")
	}
	return nil
}

// begin keeps what is read from standard input, if a path names it.
func (w *rewrite) begin(paths []string) {
	if slices.Contains(paths, "-") {
		w.in = io.TeeReader(w.in, &w.stdin)
	}
}

// end forgets what was kept.
func (w *rewrite) end() {
	w.stdin.Close()
	w.parts.Close()
}

// part is what changes of a file when one of its documents does.
func part(before, after *yamledit.Document) atomicfile.Part {
	chunk := before.Chunk()
	return atomicfile.Part{Offset: int64(chunk.Offset), Length: int64(len(chunk.Bytes)), New: after.Bytes()}
}

// file writes a file, unless it failed in a part.
func (w *rewrite) file(in piece, failed bool) error {
	defer w.parts.Close()
	notes := w.notes
	w.notes = nil
	if !failed {
		if err := w.write(in); err != nil {
			return err
		}
		for _, note := range notes {
			fmt.Fprintln(w.err, note, w.outcome(in))
		}
		return nil
	}
	if w.parts.Len() > 0 {
		fmt.Fprintf(w.err, "%s: not written, because it has errors\n", in.source.Name)
	}
	return nil
}

// outcome is what became of a file that did not fail.
func (w *rewrite) outcome(in piece) string {
	switch {
	case w.dryRun:
		return "would be written"
	case w.toStdout || !in.source.IsFile():
		return "printed"
	}
	return "written"
}

// write puts the changed parts where the operator wants them.
func (w *rewrite) write(in piece) error {
	switch {
	case w.dryRun:
		return nil
	case !in.source.IsFile():
		return w.print(&w.stdin, w.stdin.Len())
	case !w.toStdout && w.parts.Len() == 0:
		return nil
	}
	seen := atomicfile.See(in.stats.Info)
	f, err := atomicfile.Open(in.source.Path, seen)
	if err != nil {
		return err
	}
	defer f.Close()
	size := in.stats.Info.Size()
	if w.toStdout {
		return w.print(f, size)
	}
	splice := func(dst io.Writer) error { return w.parts.Splice(dst, f, size) }
	return atomicfile.Replace(in.source.Path, seen, splice)
}

// print writes the file to standard output, as documents of its own.
func (w *rewrite) print(src io.ReaderAt, size int64) error {
	w.printed.next(w.data())
	b := bufio.NewWriterSize(&w.printed, 256<<10)
	if err := w.parts.Splice(b, src, size); err != nil {
		return err
	}
	return b.Flush()
}

// separator keeps files that are written one behind the other apart.
type separator struct {
	io.Writer
	last  byte // of what was written; 0 for nothing yet
	first bool // what comes is the first of a file
}

// next begins a file.
func (s *separator) next(dst io.Writer) { s.Writer, s.first = dst, true }

func (s *separator) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.first && s.last != 0 {
		if _, err := io.WriteString(s.Writer, separation(s.last, p)); err != nil {
			return 0, err
		}
	}
	s.first, s.last = false, p[len(p)-1]
	return s.Writer.Write(p)
}

// documentStart is a line that starts a document.
var documentStart = regexp.MustCompile(`^---([ \t\r\n]|$)`)

// separation returns what stands between two files.
func separation(last byte, next []byte) string {
	text := ""
	if last != '\n' {
		text = "\n"
	}
	switch {
	case documentStart.Match(next):
		return text
	case next[0] == '%': // a directive stands before the start of its document
		return text + "...\n"
	}
	return text + "---\n"
}
