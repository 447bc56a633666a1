// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// StandardOutput remembers its first error, for not everyone who writes looks
// at it: half of an output must not be taken for all.
type StandardOutput struct {
	io.Writer
	Err error
}

// Under returns the writer that it writes to.
func (s *StandardOutput) Under() io.Writer { return s.Writer }

// Write implements io.Writer.
func (s *StandardOutput) Write(p []byte) (int, error) {
	if s.Err != nil || len(p) == 0 {
		return 0, s.Err
	}
	n, err := s.Writer.Write(p)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		s.Err = Silent{fmt.Errorf("standard output: %w; the output is not complete", err)} // it is said at the end, once
	}
	return n, s.Err
}

// file is the file that is read, or to which text is written in the end; nil for none.
func file(of any) *os.File {
	if over, is := of.(interface{ Under() io.Writer }); is {
		return file(over.Under())
	}
	f, _ := of.(*os.File)
	return f
}

// IsTerminal reports whether a stream is one.
func IsTerminal(of any) bool {
	f := file(of)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Width is that of a terminal, or that which COLUMNS sets; 0 for neither.
func Width(of any) int {
	columns, _ := Size(of)
	if columns == 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS")) // 0 for what is no number
	}
	return columns
}

// Size is that of a terminal in columns and lines; 0 for what is none.
func Size(of any) (columns, lines int) {
	if f := file(of); f != nil {
		columns, lines, _ = term.GetSize(int(f.Fd())) // 0 for an error
	}
	return columns, lines
}

// When an output has colors.
const (
	ColorAuto   = "auto" // on a terminal
	ColorAlways = "always"
	ColorNever  = "never"
)

// NewPalette is that of an output: its colors and its width.
func NewPalette(w io.Writer, color string, wide bool) Palette {
	return Palette{On: colored(color, IsTerminal(w), os.Getenv), Width: Width(w), Wide: wide}
}

// colored decides on colors: a flag wins over the environment (no-color.org,
// bixense.com/clicolors).
func colored(color string, terminal bool, getenv func(string) string) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case color != ColorAuto:
		return color == ColorAlways
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal
}

// ProgressOn shows on standard error how far long work has come, if that is a terminal that can
// remove a line, and returns what is to be written to instead. A program that reads standard output through a pipe,
// such as a pager, may draw on the same terminal: then nothing is shown.
func ProgressOn(out, err io.Writer) (newOut, newErr io.Writer, p *Progress) {
	if !IsTerminal(err) || os.Getenv("TERM") == "dumb" || isPipe(out) {
		return out, err, nil
	}
	p = NewProgress(err, func() int { return Width(err) })
	if IsTerminal(out) {
		out = p.Over(out)
	}
	return out, p.Over(err), p
}

func isPipe(of any) bool {
	info, err := file(of).Stat() // fails for nil
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// Palette colours text that an EscapingWriter brings to a terminal; the zero Palette does
// not.
type Palette struct {
	On    bool
	Width int  // of the terminal; 0 for none
	Wide  bool // tables have all of their columns, whatever the width
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint colours a text that is one line.
func (p Palette) paint(code, text string) string {
	text = strings.ReplaceAll(text, "\n", `\n`)
	if !p.On || text == "" || code == "" {
		return text
	}
	return controlSequence(code+"m") + text + controlSequence("0m")
}

var (
	stateColors    = map[plan.State]string{plan.Done: green, plan.Blocked: red}
	severityColors = map[transform.Severity]string{transform.Error: red, transform.Warning: yellow}
)

func (p Palette) state(s Stage) string {
	return p.paint(cmp.Or(stateColors[s.State], yellow), s.Word())
}

func (p Palette) severity(s transform.Severity) string {
	return p.paint(cmp.Or(severityColors[s], cyan), string(s))
}

// The width of text where there is no terminal, and the most on one: longer lines are hard to
// read. A terminal may be narrower, down to the least.
const (
	usualColumns = 100
	mostColumns  = 120
	leastColumns = 40
)

// Wrap breaks text into lines that fit the terminal. A word is never broken.
func (p Palette) Wrap(text, indent string) string {
	columns := usualColumns
	if p.Width > 0 {
		columns = max(leastColumns, min(p.Width, mostColumns))
	}
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= columns && strings.TrimSpace(line) != "" {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
