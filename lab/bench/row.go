// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// row is one way to look at the provider IDs of all nodes.
type row struct {
	name     string
	commands [][]string // a pipe; the first one speaks to the cluster
	rounds   int
	slow     bool               // it is timed while it is counted
	found    func(string) error // whether the output is right

	direct, counted string // kubeconfigs
	folder          string
	proxy           *proxy

	costs           []cost
	requests, bytes int64
}

// cost is what one run took.
type cost struct {
	first     time.Duration // until the second line, which is the first one below a heading
	wall, cpu time.Duration
	memory    int64 // the most that was resident, in bytes, of all programs together
}

// time runs it once, straight to the API server. A slow one is counted at the same time.
func (r *row) time(ctx context.Context) error {
	if r.slow {
		return r.count(ctx)
	}
	return r.run(ctx, r.direct)
}

// count runs it through the proxy. What kubectl keeps of the API is there before.
func (r *row) count(ctx context.Context) error {
	for _, config := range []string{r.direct, r.counted} {
		if err := r.warm(ctx, config); err != nil {
			return err
		}
	}
	r.proxy.requests.Store(0)
	r.proxy.bytes.Store(0)
	err := r.run(ctx, r.counted)
	r.requests, r.bytes = r.proxy.requests.Load(), r.proxy.bytes.Load()
	if !r.slow {
		r.costs = nil
	}
	return err
}

// warm lets kubectl fill its cache.
func (r *row) warm(ctx context.Context, config string) error {
	if filepath.Base(r.commands[0][0]) != "kubectl" {
		return nil
	}
	c := r.command(ctx, []string{r.commands[0][0], "get", "node", nodeName(0)}, config)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("bench: %s: %w\n%s", c, err, out)
	}
	return nil
}

func (r *row) command(ctx context.Context, args []string, config string) *exec.Cmd {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.folder, "KUBECONFIG=" + config}
	return c
}

// run runs the pipe and keeps its cost.
func (r *row) run(ctx context.Context, config string) error {
	var complaints bytes.Buffer
	out := &output{start: time.Now()}
	var list []*exec.Cmd
	for _, args := range r.commands {
		c := r.command(ctx, args, config)
		c.Stdout, c.Stderr = out, &complaints
		list = append(list, c)
	}
	if err := pipe(list); err != nil {
		return fmt.Errorf("bench: %s: %w\n%s%s", r.name, err, first(complaints.String()), first(out.String()))
	}
	k := cost{first: out.second, wall: time.Since(out.start)}
	for _, c := range list {
		k.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		k.memory += int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	}
	r.costs = append(r.costs, k)
	if err := r.found(out.String()); err != nil {
		return fmt.Errorf("bench: %s: %w\n%s%s", r.name, err, first(out.String()), first(complaints.String()))
	}
	return nil
}

// output is what a command prints, and when its second line began.
type output struct {
	text   bytes.Buffer
	start  time.Time
	second time.Duration
}

func (o *output) String() string { return o.text.String() }

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.text.Write(text)
	if o.second == 0 && bytes.Count(o.text.Bytes(), []byte("\n")) > 1 {
		o.second = time.Since(o.start)
	}
	return n, err
}

// pipe runs commands whose output is the input of the next, as a shell does. The last one's is collected.
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

// foundLines wants a line for each node.
func foundLines(nodes int) func(string) error {
	return func(out string) error {
		if n := strings.Count(out, "aws:///"); n != nodes || strings.Count(out, "\n") != nodes {
			return fmt.Errorf("it found %d of %d provider IDs", n, nodes)
		}
		return nil
	}
}

// foundByVerify wants the verdict to be about all nodes.
func foundByVerify(nodes int) func(string) error {
	return func(out string) error {
		if want := fmt.Sprintf("%d of %d", nodes, nodes); !strings.Contains(out, want) {
			return fmt.Errorf("its output does not have %q", want)
		}
		return nil
	}
}

// first returns the beginning of a text.
func first(text string) string { return text[:min(len(text), 2000)] }

func authority(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// median of an odd number of values is one of them.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

func (r *row) each(number func(cost) float64) float64 {
	var values []float64
	for _, c := range r.costs {
		values = append(values, number(c))
	}
	return median(values)
}

func (r *row) seconds() float64 { return r.each(func(c cost) float64 { return c.wall.Seconds() }) }
func (r *row) firstRow() float64 {
	return r.each(func(c cost) float64 { return c.first.Seconds() })
}
func (r *row) work() float64 { return r.each(func(c cost) float64 { return c.cpu.Seconds() }) }
func (r *row) megabytes() float64 {
	return r.each(func(c cost) float64 { return float64(c.memory) / 1e6 })
}
