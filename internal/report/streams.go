// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rke-lm/rke-lm/transform/action"
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

// ProgressOn shows on standard error how far long work has come, if that is a terminal that can
// remove a line, and returns what is to be written to instead. A program that reads standard output through a pipe,
// such as a pager, may draw on the same terminal: then nothing is shown.
func ProgressOn(out, err io.Writer) (newOut, newErr io.Writer, p *Progress) {
	if !IsTerminal(err) || os.Getenv("TERM") == "dumb" || isPipe(out) {
		return out, err, nil
	}
	p = &Progress{terminal: err, width: func() int { return Width(err) }}
	if IsTerminal(out) {
		out = p.Over(out)
	}
	return out, p.Over(err), p
}

func isPipe(of any) bool {
	info, err := file(of).Stat() // fails for nil
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// mark begins what steers a terminal, or the runner of a CI system, in text for people. No one who
// writes a document or answers a request knows it.
var mark = "\xff" + rand.Text() + "\xfe"

// controlSequence returns a control sequence for an EscapingWriter.
func controlSequence(sequence string) string { return mark + sequence }

// EscapingWriter writes text for people. What a terminal would take for more than a
// character, or would not show, it writes as an escape, as a text of JSON has it: JSON
// stays the same data. What the runner of a CI system would take for a command, it writes
// so too. Line breaks, tabs and the sequences and commands of this package pass; the
// end of a line in a file of Windows is a line break.
type EscapingWriter struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // of the last write, which the next one may complete
	line line
}

// NewEscapingWriter returns an EscapingWriter that writes to w.
func NewEscapingWriter(w io.Writer) *EscapingWriter { return &EscapingWriter{w: w} }

// Under returns the writer that it writes to.
func (l *EscapingWriter) Under() io.Writer { return l.w }

// Write implements io.Writer.
func (l *EscapingWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := append(l.rest, p...)
	if err := l.write(text, len(text)-unfinished(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what no other write has completed.
func (l *EscapingWriter) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(l.rest, len(l.rest))
}

// write writes so many bytes of a text, and keeps the rest.
func (l *EscapingWriter) write(text []byte, whole int) error {
	var b bytes.Buffer
	l.line.escape(&b, text[:whole])
	l.rest = bytes.Clone(text[whole:])
	if b.Len() == 0 {
		return nil
	}
	_, err := l.w.Write(b.Bytes())
	return err
}

// unfinished returns how many bytes at the end may be the beginning of a mark, of a
// character, or of a line break.
func unfinished(text []byte) int {
	if i := bytes.LastIndexByte(text, mark[0]); i >= 0 && strings.HasPrefix(mark+":", string(text[i:])) {
		return len(text) - i
	}
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// line is the end of the line that is written, without the blanks that it starts with.
type line []byte

func (l *line) add(text []byte) {
	*l = append(*l, text...)
	*l = bytes.TrimLeftFunc((*l)[bytes.LastIndexByte(*l, '\n')+1:], unicode.IsSpace)
	*l = (*l)[max(0, len(*l)-len("##vso")):]
}

// commands reports whether a character makes a command of the line: GitHub's runner takes "::" at the start
// of a line for one, and "##[" everywhere (actions/runner, ActionCommand.cs), others what begins in the same way.
func (l line) commands(r rune) bool {
	return r == ':' && string(l) == ":" || r == '[' && (bytes.HasSuffix(l, []byte("##")) || bytes.HasSuffix(l, []byte("##vso")))
}

// escape writes text with escapes in the place of what is no text.
func (l *line) escape(b *bytes.Buffer, text []byte) {
	b.Grow(len(text))
	for len(text) > 0 {
		if n := plain(text); n > 0 {
			b.Write(text[:n])
			l.add(text[:n])
			text = text[n:]
			continue
		}
		if rest, is := bytes.CutPrefix(text, []byte(mark)); is {
			if !bytes.HasPrefix(rest, []byte("::")) {
				b.WriteString("\x1b[")
			}
			l.add([]byte("mark")) // what follows is ours
			text = rest
			continue
		}
		r, size := utf8.DecodeRune(text)
		command := l.commands(r)
		l.add(text[:size])
		switch {
		case command:
			b.WriteString(escaped(r))
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(b, `\x%02x`, text[0])
		case r == '\n', r == '\t', !action.Hidden(r):
			b.Write(text[:size])
		case r == '\r' && bytes.HasPrefix(text, []byte("\r\n")):
		default:
			b.WriteString(escaped(r))
		}
		text = text[size:]
	}
}

// plain returns how many bytes at the start are text in ASCII, which has no escapes and ends no command.
func plain(text []byte) (n int) {
	for n < len(text) && (text[n] >= ' ' && text[n] < 0x7f && text[n] != ':' && text[n] != '[' || text[n] == '\n' || text[n] == '\t') {
		n++
	}
	return n
}

// escaped returns the escape of a character in a text of JSON.
func escaped(r rune) string {
	switch {
	case r == '\r':
		return `\r`
	case r > 0xffff:
		r -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// EscapeText returns a text as an EscapingWriter writes it.
func EscapeText(text []byte) []byte {
	var b bytes.Buffer
	new(line).escape(&b, text)
	return b.Bytes()
}

const (
	shownAfter  = 500 * time.Millisecond
	redrawnEach = 100 * time.Millisecond
	widestBar   = 40 // columns
	usualWidth  = 80 // of a terminal whose size is not known
)

// Progress shows on a terminal, in one line, how far work has come that lasts. The line is
// removed before anything is written through Over, and drawn again below it. A nil Progress
// shows nothing.
type Progress struct {
	terminal io.Writer
	width    func() int // of the terminal, now; 0 where it is not known

	mu      sync.Mutex
	of      string // what is counted
	done    int
	total   int    // 0 for unknown
	drawn   string // the line on the terminal
	partial bool   // the last line of others has no end yet

	stop  context.CancelFunc
	shown sync.WaitGroup
}

// Start begins work. It ends with ctx, or with End: then the line is removed.
func (p *Progress) Start(ctx context.Context) *Progress {
	if p != nil {
		ctx, p.stop = context.WithCancel(ctx)
		p.shown.Go(func() { p.show(ctx) })
	}
	return p
}

// End ends work that was begun.
func (p *Progress) End() {
	if p != nil {
		p.stop()
		p.shown.Wait()
	}
}

func (p *Progress) show(ctx context.Context) {
	defer p.locked(p.erase)
	next := time.NewTimer(shownAfter)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			p.locked(p.draw)
			next.Reset(redrawnEach)
		}
	}
}

// Reached notes how many of something are done, of a total or of a number that is not known.
func (p *Progress) Reached(of string, done, total int) {
	if p != nil {
		p.locked(func() { p.of, p.done, p.total = of, done, total })
	}
}

func (p *Progress) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *Progress) draw() {
	line := p.line()
	if p.partial || line == p.drawn {
		return
	}
	p.erase()
	io.WriteString(p.terminal, line)
	p.drawn = line
}

func (p *Progress) erase() {
	if p.drawn != "" {
		io.WriteString(p.terminal, "\r\x1b[K")
	}
	p.drawn = ""
}

// line fits the terminal: one that is wrapped could not be removed.
func (p *Progress) line() string {
	most := p.width() - 1
	if most < 0 {
		most = usualWidth - 1
	}
	text := ""
	switch {
	case p.total > 0:
		text = fmt.Sprintf("%s: %d/%d", p.of, p.done, p.total)
		text += bar(p.done, p.total, min(most-len(text), widestBar))
	case p.of != "":
		text = fmt.Sprintf("%s: %d", p.of, p.done)
	}
	return text[:min(len(text), most)]
}

// bar is that of a known total; "" where there is no room for it.
func bar(done, total, columns int) string {
	const frame = len(" []")
	room := columns - frame
	if room < 1 {
		return ""
	}
	full := room * min(done, total) / total
	return " [" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
}

// Over returns a writer to the same terminal, in whose way the line is not.
func (p *Progress) Over(w io.Writer) io.Writer { return &over{p, w} }

// over removes the line before each write.
type over struct {
	progress *Progress
	w        io.Writer
}

// Under returns the writer that it writes to.
func (o *over) Under() io.Writer { return o.w }

// Write implements io.Writer.
func (o *over) Write(text []byte) (n int, err error) {
	o.progress.locked(func() {
		o.progress.erase()
		if n, err = o.w.Write(text); n > 0 {
			o.progress.partial = !bytes.HasSuffix(text[:n], []byte("\n"))
		}
	})
	return n, err
}
