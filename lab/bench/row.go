// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// row is one way to do the work of a table.
type row struct {
	name     string
	commands [][]string     // a pipe
	env      []string       // in addition to PATH and HOME
	once     bool           // in all rounds
	finds    map[string]int // how often each text is in a right output, after a line break; nil for one that is thrown away
	prepare  func() error   // before each run; nil for nothing

	costs           []cost
	requests, bytes int64 // of the answers of an API server
}

// cost is what one run took.
type cost struct {
	first     time.Duration // until the second line, which is the first one below a heading
	wall, cpu time.Duration
	memory    int64 // the most that was resident, in bytes, of all programs together
}

// run runs the pipe and keeps its cost. Output that no one reads is thrown away by the system.
func (r *row) run(ctx context.Context) error {
	if r.prepare != nil {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	messages, err := os.CreateTemp("", "bench-*.err") // a pipe would take part in the work
	if err != nil {
		return err
	}
	defer os.Remove(messages.Name())
	defer messages.Close()
	out := &output{start: time.Now()}
	var list []*exec.Cmd
	for _, args := range r.commands {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(messages.Name())}, r.env...)
		c.Stderr = messages
		if r.finds != nil {
			c.Stdout = out
		}
		list = append(list, c)
	}
	err = pipe(list)
	k := cost{first: out.second, wall: time.Since(out.start)}
	if err == nil {
		err = r.check(out.text.String())
	}
	if err != nil {
		log, _ := os.ReadFile(messages.Name())
		return fmt.Errorf("%s: %w\n%.2000s%.2000s", r.name, err, log, out.text.String())
	}
	for _, c := range list {
		k.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		k.memory += int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	}
	r.costs = append(r.costs, k)
	return nil
}

// check requires that the command found all that there is: one that finds less is not faster.
func (r *row) check(out string) error {
	for text, times := range r.finds {
		if n := strings.Count("\n"+out, text); n != times {
			return fmt.Errorf("its output has %q %d times, not %d", text, n, times)
		}
	}
	return nil
}

// output is what a command prints, and when its second line began.
type output struct {
	text   bytes.Buffer
	start  time.Time
	second time.Duration
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.text.Write(text)
	if o.second == 0 && bytes.Count(o.text.Bytes(), []byte("\n")) > 1 {
		o.second = time.Since(o.start)
	}
	return n, err
}

// pipe runs commands whose output is the input of the next, as a shell does.
func pipe(list []*exec.Cmd) error {
	var ends []*os.File
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()
	for i := range len(list) - 1 {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		ends = append(ends, read, write)
		list[i].Stdout, list[i+1].Stdin = write, read
	}
	for _, c := range list {
		if err := c.Start(); err != nil {
			return err
		}
	}
	for _, f := range ends {
		f.Close()
	}
	ends = nil
	var failed error
	for _, c := range list {
		if err := c.Wait(); err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", filepath.Base(c.Path), err)
		}
	}
	return failed
}

// each is the median of a number of each run.
func (r *row) each(number func(cost) float64) float64 {
	var values []float64
	for _, c := range r.costs {
		values = append(values, number(c))
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

func (r *row) seconds() float64  { return r.each(func(c cost) float64 { return c.wall.Seconds() }) }
func (r *row) firstRow() float64 { return r.each(func(c cost) float64 { return c.first.Seconds() }) }
func (r *row) work() float64     { return r.each(func(c cost) float64 { return c.cpu.Seconds() }) }
func (r *row) megabytes() float64 {
	return r.each(func(c cost) float64 { return float64(c.memory) / 1e6 })
}

// column is a number of each row of a table.
type column struct {
	heading, format string
	of              func(*row) float64
}

// costs are the columns of every table; what a row costs is also shown in times of another one.
func costs(than *row) []column {
	return []column{
		{"time", "%.2f s", (*row).seconds},
		{"CPU", "%.2f s", (*row).work},
		{"memory", "%.0f MB", (*row).megabytes},
		{"× time", "%.2f", func(r *row) float64 { return r.seconds() / than.seconds() }},
		{"× CPU", "%.2f", func(r *row) float64 { return r.work() / than.work() }},
	}
}

// table prints rows, and below them what was aimed at.
func table(title string, columns []column, rows []*row, aims ...string) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	cells := []string{title}
	for _, c := range columns {
		cells = append(cells, c.heading)
	}
	line(w, cells)
	for _, r := range rows {
		if len(r.costs) == 0 {
			continue
		}
		cells := []string{"  " + r.name}
		for _, c := range columns {
			cells = append(cells, fmt.Sprintf(c.format, c.of(r)))
		}
		line(w, cells)
	}
	w.Flush()
	for _, a := range aims {
		fmt.Fprintln(&text, a)
	}
	return text.String()
}

func line(w io.Writer, cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// atMost reports what was aimed at, and whether it is met.
func atMost(what string, most, have float64) string {
	return aim(fmt.Sprintf("%s: %.3g, at most %.3g", what, have, most), have <= most)
}

func atLeast(what string, least, have float64) string {
	return aim(fmt.Sprintf("%s: %.3g, at least %.3g", what, have, least), have >= least)
}

func aim(what string, met bool) string {
	if met {
		return what + ": met"
	}
	return what + ": NOT met"
}
