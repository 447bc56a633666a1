// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform/action"
)

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
	begin := mark + ":"
	for n := min(len(begin), len(text)); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(begin[:n])) {
			return n
		}
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
