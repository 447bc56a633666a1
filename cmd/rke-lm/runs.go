// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/action"
)

// runOptions are the flags of the verbs that run stages on live clusters.
type runOptions struct {
	*options
	work  run.Migrate
	yes   bool
	shown *report.Runs
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
func (c *runOptions) check(verb string) error {
	if !c.Live() {
		return errors.New("no cluster; add --cluster NAMESPACE/NAME, or its ID")
	}
	if !c.yes && !report.IsTerminal(c.in) {
		return errors.New("there is no terminal for the confirmation; add --yes")
	}
	c.Copies = true
	if err := cmp.Or(c.CheckLive(), c.Search.Check()); err != nil {
		return err
	}
	c.shown = report.NewRuns(c.collect(verb), c.in, c.Selector != "")
	c.work.Finder, c.work.Chosen.Planner.Target, c.work.Show = c.Finder, c.Target, c.shown.Show
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	return nil
}

// brokenPipes takes the signals that would end the process in place of an error, once the output is closed: in the
// middle, with nodes cordoned. A helm that is started does not inherit that.
var brokenPipes = make(chan os.Signal, 1)

// start runs over one cluster.
func (c *runOptions) start(cmd *cobra.Command, work func(context.Context, migrate.Options) error) error {
	if err := c.check(cmd.Name()); err != nil {
		return err
	}
	r := &c.work.Chosen
	if !c.yes {
		r.Confirm = c.shown.Ask
	}
	r.Continue, r.Revert = commandLine(cmd, cmd.Name()), commandLine(cmd, "rollback", forwardFlags...)
	if cmd.Name() == "rollback" {
		r.Revert = commandLine(cmd, "migrate", "to", "canonical")
	}
	return c.shown.WriteRun(c.work.One(cmd.Context(), work))
}

// forwardFlags are those of migrate that rollback does not have.
var forwardFlags = []string{"until", "etcd-snapshot", "canary-service", "restart-command"}
