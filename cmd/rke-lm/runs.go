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
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// runOptions are the flags of the verbs that run stages on a live cluster.
type runOptions struct {
	*options
	run  migrate.Options
	yes  bool
	page runPage
}

// lookAgain lies between two looks at what is waited for.
const lookAgain = 2 * time.Second

func (c *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.connectionFlags(cmd)
	c.inputFlags(f)
	c.valuesFlag(f, valuesOfLive)
	c.targetFlags(f)
	c.outputFlag(cmd, "text", "json", "html")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask for confirmation; required without a terminal")
	f.DurationVar(&c.run.Timeout, "timeout", transform.RolloutTime, "the time to wait for each condition")
	f.StringVar(&c.run.AuditLog, "audit-log", "", "append an audit log to this file, as JSON lines")
}

// check refuses choices that mean nothing, before anything is looked at.
func (c *runOptions) check() error {
	if !c.Live() {
		return errors.New("no cluster; add --cluster NAMESPACE/NAME, or its ID")
	}
	if !c.yes && !isTerminal(c.in) {
		return errors.New("there is no terminal for the confirmation; add --yes")
	}
	c.acceptable, c.copiesValues = verify.Rules(), true
	return c.checkLiveValues()
}

func isTerminal(of any) bool {
	f, is := of.(*os.File)
	return is && term.IsTerminal(int(f.Fd()))
}

// width is that of a terminal, or that which COLUMNS sets; 0 for neither.
func width(of any) int {
	columns, _ := size(of)
	if columns == 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS")) // 0 for what is no number
	}
	return columns
}

// size is that of a terminal in columns and lines; 0 for what is none.
func size(of any) (columns, lines int) {
	f, is := of.(*os.File)
	if !is {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// start finds the cluster and runs.
func (c *runOptions) start(ctx context.Context, cmd *cobra.Command, work func(context.Context, migrate.Options) error) error {
	server, objects, err := c.find(ctx)
	if err != nil {
		return err
	}
	r, err := c.runOver(ctx, server, objects[0])
	if err != nil {
		return err
	}
	ctx, closed := context.WithCancelCause(ctx)
	defer closed(nil)
	r.OnEvent = c.untilClosed(c.printer(), closed)
	if !c.yes {
		r.Confirm = c.ask
	}
	r.Continue, r.Revert = commandLine(cmd, cmd.Name()), commandLine(cmd, "rollback", forwardFlags...)
	if cmd.Name() == "rollback" {
		r.Revert = commandLine(cmd, "migrate", "to", "canonical")
	}
	err = work(ctx, r)
	if c.output != "html" {
		return err
	}
	c.page.close(objects[0].Title(), stateOf(err), err)
	if unwritten := c.page.write(c.options, cmd.Name()); unwritten != nil {
		return errors.Join(err, unwritten)
	}
	return err
}

// forwardFlags are those of migrate that rollback does not have.
var forwardFlags = []string{"until", "etcd-snapshot", "canary-service", "restart-command"}

// find checks the flags and finds the clusters that they mean, and completes the choices.
func (c *runOptions) find(ctx context.Context) (*rancher.Server, []rancher.Object, error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	target, err := c.target()
	if err != nil {
		return nil, nil, err
	}
	c.Waits = true
	server, err := c.Connect(run.RetryTime)
	if err != nil {
		return nil, nil, err
	}
	objects, err := server.Find(ctx, c.Query())
	if err != nil {
		return nil, nil, err
	}
	target.RancherVersion = c.rancherVersion(ctx, server)
	c.run.Planner.Target = target
	return server, objects, nil
}

// runOver is the run over a cluster.
func (c *runOptions) runOver(ctx context.Context, server *rancher.Server, o rancher.Object) (r migrate.Options, err error) {
	r = c.run
	r.Server, r.Object = server, o
	found, err := c.openLive(ctx, server, o)
	if err != nil {
		return r, err
	}
	r.Planner.Distro = found.Distro
	if r.Planner.Target, err = c.finder().WithValues(found, found.For(r.Planner.Target)); err != nil {
		return r, err
	}
	r.Given = (&run.Arguments{Engine: engine, Server: server, Object: o}).Of
	r.Accept, r.Interval, r.User = r.Planner.Target.Accept, lookAgain, currentUser()
	return r, nil
}

// plan plans a cluster as the run over it does.
func (c *runOptions) plan(ctx context.Context, server *rancher.Server, o rancher.Object) (*transform.Plan, error) {
	found, err := c.openLive(ctx, server, o)
	if err != nil {
		return nil, err
	}
	return transform.Build(found.Distro, found.Docs, found.For(c.run.Planner.Target))
}

// openLive opens a cluster that a run can be over. Manifests lie on machines, where no server
// reaches them.
func (c *runOptions) openLive(ctx context.Context, server *rancher.Server, o rancher.Object) (clusters.Cluster, error) {
	f, err := c.finder().OpenLive(ctx, &clusters.Live{Server: server, Object: o})
	switch {
	case err != nil:
		return f, err
	case f.Distro.Live.Kind != o.Kind:
		return f, exitcode.With(exitcode.Refused, fmt.Errorf("%s: it is not an RKE2 or RKE cluster that this Rancher provisions; for manifests on the machines, use plan and apply", o.Title()))
	case run.CheckHostNames(c.finder(), f) != nil:
		return f, run.CheckHostNames(c.finder(), f)
	case o.ID == "":
		return f, exitcode.With(exitcode.Refused, fmt.Errorf("%s: Rancher has not created the cluster yet; wait until it exists", o.Title()))
	}
	return f, nil
}

func currentUser() migrate.User {
	by := migrate.User{Name: "unknown", Host: "unknown"}
	if u, err := user.Current(); err == nil {
		by.Name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		by.Host = h
	}
	return by
}

// printer prints events in the format that was requested.
func (c *runOptions) printer() func(migrate.Event) {
	if c.output == "json" {
		return func(e migrate.Event) { report.WriteJSONLine(c.out, report.NewRunEvent(e)) } // c.out keeps its errors
	}
	text := &report.RunText{Out: c.out, Err: c.err, Palette: c.palette(c.out), Width: width(underneath(c.err))}
	if c.output == "html" {
		text.Out, text.Palette = c.err, c.palette(c.err)
	}
	return func(e migrate.Event) {
		shown := report.NewRunEvent(e)
		c.page.add(shown)
		text.Write(shown)
	}
}

// errClosed ends a run whose output is closed.
var errClosed = errors.New("standard output is closed")

// brokenPipes takes the signals that would end the process in place of an error.
var brokenPipes = make(chan os.Signal, 1)

// untilClosed ends a run once its output is closed, as an interrupt does. The signal
// that comes with it would end the process in the middle, with nodes cordoned, unless
// the process takes it; a helm that is started does not inherit that.
func (c *runOptions) untilClosed(print func(migrate.Event), end context.CancelCauseFunc) func(migrate.Event) {
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	return func(e migrate.Event) {
		print(e)
		if c.closed() {
			end(errClosed)
		}
	}
}

// ask asks on the terminal. A user who ends the run need not answer.
func (c *runOptions) ask(ctx context.Context, stage string) (bool, error) {
	fmt.Fprintf(c.err, "\nContinue with %s? [y/N] ", stage)
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
	return commandLineWith(cmd, verb, nil, except...)
}

// commandLineWith puts other flags before them.
func commandLineWith(cmd *cobra.Command, verb string, with []string, except ...string) string {
	words := append([]string{"rke-lm", verb}, with...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(except, f.Name) {
			return
		}
		words = append(words, flagWords(f)...)
	})
	return shell.Words(words...)
}

// flagWords is a flag as it is typed: a list once for each value.
func flagWords(f *pflag.Flag) (words []string) {
	values := []string{f.Value.String()}
	if list, is := f.Value.(pflag.SliceValue); is {
		values = list.GetSlice()
	}
	for _, v := range values {
		words = append(words, "--"+f.Name+"="+v)
	}
	return words
}
