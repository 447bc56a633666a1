// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/atomicfile"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Rewriter rewrites files, each with all of its changes or not at all: in place, or
// to Out, or nowhere.
type Rewriter struct {
	DryRun bool      // write nothing
	Print  bool      // to Out, in place of the file
	Out    io.Writer // takes what is printed; a stream always is
	// Replace replaces a file; nil for [atomicfile.Replace].
	Replace func(path string, was atomicfile.Seen, write func(io.Writer) error) error

	stdin   atomicfile.Spool    // what was read from standard input, to write it again
	pending map[string]*pending // by file
	printed Separator
}

// pending is what is to become of a file, until its end is known.
type pending struct {
	parts atomicfile.Parts
	first int // of the stages of a cluster, the first that changes it
}

// Keep keeps what is read from standard input, to write it again.
func (w *Rewriter) Keep(stdin io.Reader) io.Reader { return io.TeeReader(stdin, &w.stdin) }

// Close forgets what was kept.
func (w *Rewriter) Close() {
	w.stdin.Close()
	for name := range w.pending {
		w.forget(name)
	}
}

// Forget drops the changes of files.
func (w *Rewriter) Forget(files []File) {
	for _, f := range files {
		w.forget(f.Name)
	}
}

func (w *Rewriter) forget(file string) {
	w.at(file).parts.Close()
	delete(w.pending, file)
}

// at returns what is to become of a file.
func (w *Rewriter) at(file string) *pending {
	if w.pending == nil {
		w.pending = map[string]*pending{}
	}
	if w.pending[file] == nil {
		w.pending[file] = &pending{}
	}
	return w.pending[file]
}

// Change keeps what becomes of a document; first is the number of the stage that
// changes it first.
func (w *Rewriter) Change(before, after yamledit.Chunk, first int) error {
	p := w.at(before.File)
	if p.parts.Len() == 0 || first < p.first {
		p.first = first
	}
	return p.parts.Add(atomicfile.Part{Offset: int64(before.Offset), Length: int64(len(before.Bytes)), New: after.Bytes})
}

// Changes reports whether a file has changes.
func (w *Rewriter) Changes(f File) bool { return w.at(f.Name).parts.Len() > 0 }

// Prints reports whether a file is printed rather than written.
func (w *Rewriter) Prints(f File) bool { return w.Print || !f.IsFile() }

// replaces reports whether a file is changed in its place.
func (w *Rewriter) replaces(f File) bool { return !w.DryRun && !w.Prints(f) && w.Changes(f) }

// Write writes files that end together, in the order of the stages that change them:
// should a later one fail, the files are between two stages, and not past one that was
// left out; the error then names the files that were written. Those that cannot be
// written as things are fail before the first one is.
func (w *Rewriter) Write(files []File) error {
	ordered := slices.Clone(files)
	if !w.Print {
		slices.SortStableFunc(ordered, func(a, b File) int { return w.at(a.Name).first - w.at(b.Name).first })
	}
	if err := w.check(ordered); err != nil {
		return err
	}
	var written []string
	for i, f := range ordered {
		if err := w.write(f); err != nil {
			return w.between(err, written, ordered[i:])
		}
		if w.replaces(f) {
			written = append(written, f.Name)
		}
	}
	return nil
}

// check looks at files before the first of them is written.
func (w *Rewriter) check(files []File) error {
	for _, f := range files {
		if len(files) == 1 || !w.replaces(f) {
			continue
		}
		opened, err := atomicfile.Open(f.Path, atomicfile.See(f.Info))
		if err != nil {
			return err
		}
		opened.Close()
	}
	return nil
}

// between reports which files of a cluster were written, and how to continue.
func (w *Rewriter) between(err error, written []string, left []File) error {
	if len(written) == 0 {
		return err
	}
	var names []string
	for _, f := range left {
		if w.replaces(f) {
			names = append(names, f.Name)
		}
	}
	return fmt.Errorf("%w; %s: written; %s: not written, so the files of the cluster are between two stages: apply none of them to the cluster, correct the cause, and run the same command again",
		err, strings.Join(written, ", "), strings.Join(names, ", "))
}

// write puts the changed parts where the operator wants them.
func (w *Rewriter) write(f File) error {
	switch {
	case w.DryRun:
		return nil
	case !f.IsFile():
		return w.print(f, &w.stdin, w.stdin.Len())
	case !w.Print && !w.Changes(f):
		return nil
	}
	seen, size := atomicfile.See(f.Info), f.Info.Size()
	was, err := atomicfile.Open(f.Path, seen)
	if err != nil {
		return err
	}
	defer was.Close()
	if w.Print {
		return w.print(f, was, size)
	}
	replace := w.Replace
	if replace == nil {
		replace = atomicfile.Replace
	}
	return replace(f.Path, seen, func(dst io.Writer) error { return w.at(f.Name).parts.Splice(dst, was, size) })
}

// print writes the file to Out, as documents of its own.
func (w *Rewriter) print(f File, src io.ReaderAt, size int64) error {
	w.printed.Next(w.Out)
	b := bufio.NewWriterSize(&w.printed, 256<<10)
	if err := w.at(f.Name).parts.Splice(b, src, size); err != nil {
		return err
	}
	return b.Flush()
}
