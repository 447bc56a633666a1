// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// runOptions are the flags of the verbs that run stages on live clusters.
type runOptions struct {
	*options
	work  run.Migrate
	yes   bool
	shown report.Runs
}

func newRun(o *options) *runOptions {
	return &runOptions{options: o, work: run.Migrate{Connector: &o.Connector, Engine: engine, Closed: func() bool { return o.standard.Err != nil }}}
}

func (c *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.connectionFlags(cmd)
	c.inputFlags(f)
	c.valuesFlag(f, valuesOfLive)
	c.targetFlags(f)
	c.outputFlag(cmd, "text", "json", "html")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask for confirmation; required without a terminal")
	f.DurationVar(&c.work.Chosen.Timeout, "timeout", action.RolloutTime, "the time to wait for each condition")
	f.StringVar(&c.work.Chosen.AuditLog, "audit-log", "", "append an audit log to this file, as JSON lines")
}

// check refuses choices that mean nothing, before anything is looked at, and completes the work.
func (c *runOptions) check() (err error) {
	if !c.Live() {
		return errors.New("no cluster; add --cluster NAMESPACE/NAME, or its ID")
	}
	if !c.yes && !report.IsTerminal(c.in) {
		return errors.New("there is no terminal for the confirmation; add --yes")
	}
	c.Copies = true
	if err := c.CheckLive(); err != nil {
		return err
	}
	err = c.Search.Check()
	c.work.Finder, c.work.Chosen.Planner.Target = c.Finder, c.Target
	c.work.Show, c.shown.Format, c.shown.Out = c.shown.Show, c.Format, c.Out
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	return err
}

// brokenPipes takes the signals that would end the process in place of an error, once the output is closed: in the
// middle, with nodes cordoned. A helm that is started does not inherit that.
var brokenPipes = make(chan os.Signal, 1)

// start runs over one cluster.
func (c *runOptions) start(cmd *cobra.Command, work func(context.Context, migrate.Options) error) error {
	if err := c.check(); err != nil {
		return err
	}
	text := &report.RunText{Out: c.Out, Err: c.Err, Palette: c.Palette, Width: report.Width(c.Err)}
	if c.Format == "html" {
		text.Out, text.Palette = c.Err, c.ErrPalette
	}
	c.shown.One = text
	r := &c.work.Chosen
	if !c.yes {
		r.Confirm = c.ask
	}
	r.Continue, r.Revert = commandLine(cmd, cmd.Name()), commandLine(cmd, "rollback", forwardFlags...)
	if cmd.Name() == "rollback" {
		r.Revert = commandLine(cmd, "migrate", "to", "canonical")
	}
	cluster, err := c.work.One(cmd.Context(), work)
	if c.Format != "html" || cluster == "" {
		return err
	}
	state := waves.Done
	if err != nil {
		state = waves.Failed
	}
	c.shown.End(cluster, state, err)
	return errors.Join(err, c.shown.WritePage(newResults(cmd.Name())))
}

// forwardFlags are those of migrate that rollback does not have.
var forwardFlags = []string{"until", "etcd-snapshot", "canary-service", "restart-command"}

// ask asks on the terminal. A user who ends the run need not answer.
func (c *runOptions) ask(ctx context.Context, stage string) (bool, error) {
	fmt.Fprintf(c.Err, "\nContinue with %s? [y/N] ", stage)
	answer := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(oneByte{c.in}).ReadString('\n')
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

// oneByte keeps a reader from taking more than one answer.
type oneByte struct{ io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }

// commandLine returns the command line of another verb with the flags that were
// given, except some.
func commandLine(cmd *cobra.Command, verb string, except ...string) string {
	return shell.Words(slices.Concat([]string{"rke-lm", verb}, givenFlags(cmd, except...))...)
}

// givenFlags are the flags that were given, except some, as they are typed.
func givenFlags(cmd *cobra.Command, except ...string) (words []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			words = append(words, flagWords(f)...)
		}
	})
	return words
}

// flagWords is a flag as it is typed: a list once for each value.
func flagWords(f *pflag.Flag) (words []string) {
	values := []string{f.Value.String()}
	if list, is := f.Value.(pflag.SliceValue); is {
		values = list.GetSlice()
	}
	for _, v := range values {
		if v != "" && v == f.NoOptDefVal {
			words = append(words, "--"+f.Name)
		} else {
			words = append(words, "--"+f.Name+"="+v)
		}
	}
	return words
}
