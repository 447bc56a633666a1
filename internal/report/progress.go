// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

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

// NewProgress shows progress on a terminal.
func NewProgress(terminal io.Writer, width func() int) *Progress {
	return &Progress{terminal: terminal, width: width}
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
