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
	"strings"

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
	stdin    atomicfile.Spool    // what was read from standard input, to write it again
	pending  map[string]*pending // by file
	printed  separator

	replace func(path string, was atomicfile.Seen, write func(io.Writer) error) error // nil for atomicfile.Replace; tests let it fail
}

// pending is what is to become of a file, until its end is known.
type pending struct {
	parts atomicfile.Parts
	notes []string // what to say of its clusters, up to what became of the file
	first int      // of the stages of a cluster, the first that changes it
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
	for name := range w.pending {
		w.forget(name)
	}
}

// at returns what is to become of a file.
func (w *rewrite) at(file string) *pending {
	if w.pending == nil {
		w.pending = map[string]*pending{}
	}
	if w.pending[file] == nil {
		w.pending[file] = &pending{}
	}
	return w.pending[file]
}

func (w *rewrite) forget(file string) {
	w.at(file).parts.Close()
	delete(w.pending, file)
}

// note keeps what to say of a cluster once its files are written.
func (w *rewrite) note(doc *yamledit.Document, text string) {
	p := w.at(doc.File())
	p.notes = append(p.notes, text)
}

// change keeps what becomes of a document; first is the number of the stage that
// changes it first.
func (w *rewrite) change(before, after *yamledit.Document, first int) error {
	p, chunk := w.at(before.File()), before.Chunk()
	if p.parts.Len() == 0 || first < p.first {
		p.first = first
	}
	return p.parts.Add(atomicfile.Part{Offset: int64(chunk.Offset), Length: int64(len(chunk.Bytes)), New: after.Bytes()})
}

// files writes files that end together, unless one of them failed in a part. They are
// written in the order of the stages that change them: should a later one fail, the
// files are between two stages, and not past one that was left out.
func (w *rewrite) files(ins []piece, failed bool) error {
	defer func() {
		for _, in := range ins {
			w.forget(in.source.Name)
		}
	}()
	if failed {
		for _, in := range ins {
			if w.at(in.source.Name).parts.Len() > 0 {
				fmt.Fprintf(w.err, "%s: not written, because of errors in %s\n", in.source.Name, theirs(ins))
			}
		}
		return nil
	}
	if err := w.writeAll(ins); err != nil {
		return err
	}
	for _, in := range ins {
		for _, note := range w.at(in.source.Name).notes {
			fmt.Fprintln(w.err, note, w.outcome(in))
		}
	}
	return nil
}

// theirs names what the errors are in.
func theirs(ins []piece) string {
	if len(ins) > 1 {
		return "the files of its cluster"
	}
	return "it"
}

// writeAll writes files. Those that cannot be written as things are fail before the
// first one is.
func (w *rewrite) writeAll(ins []piece) error {
	ordered := slices.Clone(ins)
	if !w.toStdout {
		slices.SortStableFunc(ordered, func(a, b piece) int { return w.at(a.source.Name).first - w.at(b.source.Name).first })
	}
	if err := w.canWrite(ordered); err != nil {
		return err
	}
	var written []string
	for i, in := range ordered {
		if err := w.write(in); err != nil {
			return w.between(err, written, ordered[i:])
		}
		if w.changes(in) {
			written = append(written, in.source.Name)
		}
	}
	return nil
}

// changes reports whether a file is changed in its place.
func (w *rewrite) changes(in piece) bool {
	return !w.dryRun && !w.toStdout && in.source.IsFile() && w.at(in.source.Name).parts.Len() > 0
}

// canWrite looks at files before the first of them is written.
func (w *rewrite) canWrite(ins []piece) error {
	for _, in := range ins {
		if len(ins) == 1 || !w.changes(in) {
			continue
		}
		f, err := atomicfile.Open(in.source.Path, atomicfile.See(in.stats.Info))
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// between says which files of a cluster were written, and how to go on.
func (w *rewrite) between(err error, written []string, left []piece) error {
	if len(written) == 0 {
		return err
	}
	var names []string
	for _, in := range left {
		if w.changes(in) {
			names = append(names, in.source.Name)
		}
	}
	return fmt.Errorf("%w; %s: written; %s: not written, so the files of the cluster are between two stages: apply none of them to the cluster, correct the cause, and run the same command again",
		err, strings.Join(written, ", "), strings.Join(names, ", "))
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
		return w.print(in, &w.stdin, w.stdin.Len())
	case !w.toStdout && w.at(in.source.Name).parts.Len() == 0:
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
		return w.print(in, f, size)
	}
	splice := func(dst io.Writer) error { return w.at(in.source.Name).parts.Splice(dst, f, size) }
	if w.replace != nil {
		return w.replace(in.source.Path, seen, splice)
	}
	return atomicfile.Replace(in.source.Path, seen, splice)
}

// print writes the file to standard output, as documents of its own.
func (w *rewrite) print(in piece, src io.ReaderAt, size int64) error {
	w.printed.next(w.data())
	b := bufio.NewWriterSize(&w.printed, 256<<10)
	if err := w.at(in.source.Name).parts.Splice(b, src, size); err != nil {
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
