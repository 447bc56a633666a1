// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rke-lm/rke-lm/internal/migrate"
)

// RunText writes the events of a run for people: what happens to Out, and what is
// waited for to Err. On a terminal what is waited for is redrawn in its place.
type RunText struct {
	Out, Err io.Writer
	Palette  Palette
	Width    int // of the terminal that Err is; 0 where it is none

	drawn int               // lines in place
	last  map[string]string // what was said of each machine
}

// Write writes an event.
func (t *RunText) Write(e RunEvent) {
	if e.Type == migrate.Awaited {
		t.await(e)
		return
	}
	t.drawn, t.last = 0, nil
	switch e.Type {
	case migrate.Staged:
		t.stage(e)
	case migrate.Checked:
		fmt.Fprintf(t.Out, "  %s %s\n", t.Palette.paint(green, "ok"), e.Message)
	case migrate.Finished:
		fmt.Fprintf(t.Out, "%s: %s; %s\n", e.Cluster, e.Message, e.End.Leader)
	case migrate.Stopped: // the error says the rest
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	case migrate.Noted:
		if e.Message != "" {
			fmt.Fprintf(t.Err, "  %s\n", e.Message)
		}
		WriteFindings(t.Err, t.Palette, e.Findings, "  ")
	default:
		fmt.Fprintf(t.Out, "  %s\n", e.Message)
	}
}

func (t *RunText) stage(e RunEvent) {
	fmt.Fprintf(t.Out, "\n%s\n%s\n", t.Palette.paint(bold, e.Stage), t.Palette.Wrap(e.Message, "  "))
	WriteFindings(t.Out, t.Palette, e.Findings, "  ")
	if e.Diff != "" {
		fmt.Fprintln(t.Out)
		WriteDiff(t.Out, t.Palette, e.Diff)
	}
	for _, a := range e.Prepare { // shown as what it is: nothing that the run does
		fmt.Fprintln(t.Out, t.Palette.Wrap("add in AWS, if missing: "+a.Why, "  # "))
		fmt.Fprintf(t.Out, "  #   %s\n", strings.ReplaceAll(a.Command, "\n", "\n  #   "))
	}
	for _, a := range e.Actions {
		fmt.Fprintln(t.Out, t.Palette.Wrap(a.Why, "  # "))
		fmt.Fprintf(t.Out, "  $ %s\n", a.Command)
	}
}

// await draws how far things are; where nothing can be redrawn, only what is new.
func (t *RunText) await(e RunEvent) {
	if t.Width > 0 {
		erase(t.Err, t.drawn)
	}
	t.drawn = 0
	if t.last == nil {
		t.last = map[string]string{}
	}
	t.line("", "waiting: "+words(e.Message))
	for _, m := range e.Machines {
		state := m.Waiting
		if m.Done {
			state = "done"
		}
		t.line(m.Name, fmt.Sprintf("  %s (%s): %s", m.Name, m.Node, words(state)))
	}
}

func (t *RunText) line(of, text string) {
	if t.Width == 0 && t.last[of] == text {
		return
	}
	t.last[of] = text
	if t.Width > 0 {
		text = clipped(text, t.Width-3)
	}
	fmt.Fprintf(t.Err, "  %s\n", text)
	t.drawn++
}
