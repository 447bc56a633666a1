// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Rewriter rewrites files, each with all of its changes or not at all: in place, or
// to Out, or nowhere.
type Rewriter struct {
	DryRun bool      // write nothing
	Print  bool      // to Out, in place of the file
	Out    io.Writer // takes what is printed; a stream always is

	printer Printer
}

// File is a file that was read, and what becomes of its documents.
type File struct {
	source.Text
	Changes []Change
}

// Change is what becomes of a document. First is the number of the stage of its cluster that changes
// it first.
type Change struct {
	Before, After yamledit.Chunk
	First         int
}

// first is the number of the stage that changes the file first.
func (f File) first() int {
	if len(f.Changes) == 0 {
		return 0
	}
	return slices.MinFunc(f.Changes, func(a, b Change) int { return a.First - b.First }).First
}

// text is that with the changes.
func (f File) text() ([]byte, error) {
	splices := lists.Map(f.Changes, func(c Change) yamledit.Splice {
		return yamledit.Splice{Start: c.Before.Offset, End: c.Before.Offset + len(c.Before.Bytes), New: string(c.After.Bytes)}
	})
	slices.SortStableFunc(splices, func(a, b yamledit.Splice) int { return a.Start - b.Start })
	return yamledit.Apply(f.Bytes, splices)
}

// Prints reports whether a file is printed rather than written.
func (w *Rewriter) Prints(f source.Text) bool { return w.Print || !f.IsFile() }

// replaces reports whether a file is changed in its place.
func (w *Rewriter) replaces(f File) bool {
	return !w.DryRun && !w.Prints(f.Text) && len(f.Changes) > 0
}

// Write writes files that end together, in the order of the stages that change them:
// should a later one fail, the files are between two stages, and not past one that was
// left out; the error then names the files that were written. Those that cannot be
// written as things are fail before the first one is.
func (w *Rewriter) Write(list []File) error {
	ordered := slices.Clone(list)
	if !w.Print {
		slices.SortStableFunc(ordered, func(a, b File) int { return a.first() - b.first() })
	}
	for _, f := range ordered {
		if len(ordered) > 1 && w.replaces(f) {
			if err := files.Unchanged(f.Path, f.Info); err != nil {
				return err
			}
		}
	}
	for i, f := range ordered {
		if err := w.write(f); err != nil {
			return between(err, w.replaced(ordered[:i]), w.replaced(ordered[i:]))
		}
	}
	return nil
}

// replaced are the names of the files that are changed in their places.
func (w *Rewriter) replaced(list []File) []string {
	return lists.Map(lists.Where(list, w.replaces), func(f File) string { return f.Name })
}

// between reports which files of a cluster were written, and how to continue.
func between(err error, written, left []string) error {
	if len(written) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s: written; %s: not written, so the files of the cluster are between two stages: apply none of them to the cluster, correct the cause, and run the same command again",
		err, strings.Join(written, ", "), strings.Join(left, ", "))
}

// write puts the changed text where the operator wants it.
func (w *Rewriter) write(f File) error {
	if w.DryRun || !w.Prints(f.Text) && len(f.Changes) == 0 {
		return nil
	}
	text, err := f.text()
	switch {
	case err != nil:
		return err
	case w.Prints(f.Text):
		return w.printer.Print(w.Out, text)
	}
	return files.Replace(f.Path, f.Info, text)
}

// Printer writes files one after the other, as documents of their own.
type Printer struct{ last byte } // of what was written; 0 for nothing yet

// Print writes the text of a file.
func (p *Printer) Print(to io.Writer, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if p.last != 0 {
		text = append([]byte(separation(p.last, text)), text...)
	}
	p.last = text[len(text)-1]
	_, err := to.Write(text)
	return err
}

// documentStart is a line that starts a document.
var documentStart = regexp.MustCompile(`^---([ \t\r\n]|$)`)

// separation returns what is written between two files, neither of which is empty.
func separation(last byte, next []byte) string {
	text := ""
	if last != '\n' {
		text = "\n"
	}
	switch {
	case documentStart.Match(next):
		return text
	case next[0] == '%': // a directive precedes the start of its document
		return text + "...\n"
	}
	return text + "---\n"
}
