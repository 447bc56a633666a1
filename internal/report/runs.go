// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Runs shows what happens in runs over clusters: as lines of JSON, or as text, and at the end on a page.
type Runs struct {
	*Collector          // its output keeps its errors
	One        *RunText // of one cluster
	Many       *FleetText
	In         *bufio.Reader

	of map[string]*Timeline // by cluster
}

// NewRuns shows runs over one cluster, or over many. A page is written at the end, so the text is not on standard output.
func NewRuns(c *Collector, in io.Reader, many bool) *Runs {
	r := &Runs{Collector: c, In: bufio.NewReader(in), of: map[string]*Timeline{}}
	if many {
		r.Many = &FleetText{Err: c.Err, Palette: c.ErrPalette}
		r.Many.Width, r.Many.Height = Size(c.Err)
		return r
	}
	r.One = &RunText{Out: c.Out, Err: c.Err, Palette: c.Palette, Width: Width(c.Err)}
	if c.OutputFormat == "html" {
		r.One.Out, r.One.Palette = c.Err, c.ErrPalette
	}
	return r
}

// Show shows an event of a cluster.
func (r *Runs) Show(m migrate.Member, e migrate.Event) {
	event := NewRunEvent(e)
	switch {
	case r.OutputFormat == "json":
		if e.Type != "" {
			WriteJSONLine(r.Out, event)
		}
		return
	case r.OutputFormat == "html" && e.Type != "":
		r.timeline(e.Cluster).Add(event)
	}
	if r.One != nil {
		r.One.Write(event)
	} else {
		r.Many.Write(m, event)
	}
}

func (r *Runs) timeline(cluster string) *Timeline {
	if r.of[cluster] == nil {
		r.of[cluster] = &Timeline{Cluster: cluster}
	}
	return r.of[cluster]
}

// WriteRun writes the page of the run over one cluster, "" where it did not begin, and returns its error.
func (r *Runs) WriteRun(cluster string, err error) error {
	if r.OutputFormat != "html" || cluster == "" {
		return err
	}
	state := transition.Done
	if err != nil {
		state = transition.Failed
	}
	r.writePage(migrate.Member{Cluster: cluster, State: state, Err: err})
	return err
}

// WriteSummary writes what came of a migration of many clusters, and returns its error. again is the command that
// continues.
func (r *Runs) WriteSummary(s migrate.Summary, again string) error {
	switch made := NewMigration(s, again); r.OutputFormat {
	case "json":
		WriteJSONLine(r.Out, made)
	case "html":
		WriteMigration(r.Err, r.ErrPalette, made)
		r.writePage(s.Members...)
	default:
		WriteMigration(r.Out, r.Palette, made)
	}
	if r.Code = int(s.ExitCode()); s.Err != nil {
		return transform.WithExitCode(s.ExitCode(), s.Err)
	}
	return nil
}

// writePage writes the page of runs, also of those that did not start.
func (r *Runs) writePage(all ...migrate.Member) {
	for _, m := range all {
		r.Keep(r.timeline(m.Cluster).Subject(string(m.State), m.Err))
	}
	r.WriteHTML(r.Out, TimelineTable)
}

// Agree asks whether to start a wave.
func (r *Runs) Agree(ctx context.Context, w transition.Wave) (bool, error) {
	fmt.Fprintf(r.Err, "\n%s:\n", w.Name)
	for _, cluster := range w.Clusters {
		fmt.Fprintf(r.Err, "  %s\n", cluster)
	}
	return r.Ask(ctx, w.Name)
}

// Ask asks on the terminal whether to continue with a stage or a wave. A user who ends the run need not answer.
func (r *Runs) Ask(ctx context.Context, next string) (bool, error) {
	fmt.Fprintf(r.Err, "\nContinue with %s? [y/N] ", next)
	answer := make(chan string, 1)
	go func() {
		line, err := r.In.ReadString('\n')
		if err != nil {
			line = ""
		}
		answer <- line
	}()
	select {
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// RunEvent is what happens in a run of migrate or rollback: one line of its stream.
type RunEvent struct {
	TypeMeta
	migrate.Event
}

// NewRunEvent returns an event for programs, without its secrets.
func NewRunEvent(e migrate.Event) RunEvent {
	e.Findings = Findings(e.Findings)
	if e.From != nil {
		e.From, e.To, e.Diff = nil, nil, Diff(e.From, e.To)
	}
	e.Machines = slices.Clone(e.Machines)
	for i := range e.Machines {
		e.Machines[i].Waiting = redact.Text(e.Machines[i].Waiting)
	}
	return RunEvent{Type("RunEvent"), e}
}
