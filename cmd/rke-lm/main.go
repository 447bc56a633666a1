// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command rke-lm takes a Rancher cluster off the in-tree AWS cloud provider,
// stage by stage.
//
// The verbs are in files.go, live.go, migrate.go and print.go, by what they are about.
//
// Invariant: cmd wires. What a verb decides is in transform, what it reads and
// writes goes through internal, and only main ends the process.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
)

// streams are what one run reads and writes: the standard streams, and the network.
// What is written to out and err is text for people, or JSON.
type streams struct {
	in       io.Reader
	out, err io.Writer
	network  kube.Dial // nil for the network of this machine

	data     io.Writer              // where documents and YAML go, which keep their bytes
	standard *report.StandardOutput // under out and data
	progress *report.Progress       // nil where none is shown
}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(250) // a seventh less CPU for a plan of 500 clusters than at 100, which takes 195 MB instead of 130 MB
	}
	// An interrupt, a request, a terminal that goes: each lets a run come to its own end. One that nohup ignores stays ignored.
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		endings = append(endings, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings...)
	context.AfterFunc(ctx, func() {
		time.Sleep(repeatedSignal)
		stop()
	})
	code := execute(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// repeatedSignal is for how long a second signal counts as the first: shells and
// wrappers send some twice. Who sends one later does not want to wait for the end.
const repeatedSignal = time.Second

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	s.out, s.err, s.progress = report.ProgressOn(s.out, s.err)
	s.standard = &report.StandardOutput{Writer: s.out}
	text, notes := report.NewEscapingWriter(s.standard), report.NewEscapingWriter(s.err) // until they are flushed
	s.out, s.err, s.data = text, notes, s.standard
	if report.IsTerminal(text) {
		s.data = text // a document could steer it
	}
	defer notes.Flush()
	defer text.Flush()
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	report.WriteError(s.err, err)
	code := transform.ExitCodeOf(err)
	text.Flush()
	if notes.Flush(); s.standard.Err != nil {
		fmt.Fprintln(s.err, "error:", s.standard.Err)
		code = max(code, transform.ExitInput)
	}
	return code
}

// withCode lets a run end with a code after its errors were printed.
func withCode(code int) error {
	if code == transform.ExitDone {
		return nil
	}
	return report.Silent{Err: transform.NewError(transform.ExitCode(code), "")}
}

// options are the choices that several verbs share.
type options struct {
	streams
	color   string
	noColor bool
	verbose bool // a line for each cluster
	report.Output
	run.Search

	given       *pflag.FlagSet  // of the verb that runs
	config      string          // file with choices
	configured  map[string]bool // flags that it has set
	exclude     []string        // patterns of files that are not read
	excludeFrom string          // the folder that they start at; "" for the current one
}

func newRoot(s streams) *cobra.Command {
	o := &options{streams: s, Output: report.Output{Out: s.out, Err: s.err, Data: s.data}}
	o.Search = run.Search{Connector: run.Connector{Notes: s.err}, Formats: formats(), In: s.in, Options: run.Options{Progress: s.progress, Finder: clusters.Finder{Overlays: source.NewOverlays(source.Disk{})}}}
	o.Dial = s.network
	root := &cobra.Command{
		Use:   "rke-lm",
		Short: "Migrate a Rancher cluster from the in-tree AWS cloud provider, stage by stage",
		Long: `rke-lm plans, applies and proves the leader migration of a Rancher cluster from
the in-tree AWS cloud provider to the external aws-cloud-controller-manager.

It reads the cluster's own YAML, from files or from a live Rancher, shows every
stage as a small diff, and changes only what the stage promises.`,
		Args:          unknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	printVersion := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if !*printVersion {
			return c.Help()
		}
		fmt.Fprint(o.Out, currentBuild())
		return nil
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().StringVar(&o.color, "color", report.ColorAuto, "colors in the output: auto, always, never (also: NO_COLOR, CLICOLOR_FORCE)")
	oneOf(root.PersistentFlags(), "color", []string{report.ColorAuto, report.ColorAlways, report.ColorNever})
	root.PersistentFlags().BoolVar(&o.noColor, "no-color", false, "the same as --color never")
	root.PersistentFlags().StringVar(&o.config, "config", "", "YAML file with migration options, such as end-state: external; flags on the command line take precedence")
	root.PersistentFlags().BoolP("help", "h", false, "print the usage") // it fits on a screen
	root.PersistentFlags().BoolFunc("help-all", "explain all flags", func(v string) error { return root.PersistentFlags().Set("help", v) })
	root.PersistentFlags().Lookup("help-all").DefValue = "false"
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if c.Name() == cobra.ShellCompRequestCmd {
			o.completeFlags(root)
			return nil
		}
		o.given = c.Flags()
		o.UserAgent = programName + "/" + currentBuild().Version
		if err := cmp.Or(checkGiven(c.Flags()), checkGroups(c.Flags()), o.checkValues(c.Flags())); err != nil {
			return err
		}
		if _, later := c.Annotations[configFromBase]; later {
			return nil
		}
		return cmp.Or(o.configure(c.Flags()), o.leaveOut())
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newPlan(o), newApply(o), newExplain(o), newLint(o), newReview(o), newVerify(o), newLeaders(o), newStatus(o),
		newMigrate(o), newRollback(o), newController(o),
		newDeployment(o), newLeaderMigrationConfig(o), newRules(o), newVersion(o), newManual(o))
	call(root, os.Args[0])
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	addCommands(root)
	return root
}

// collect collects the results of a verb about the clusters in paths, or those that the flags name.
func (o *options) collect(verb string, paths ...string) *report.Collector {
	all := report.NewCollector(&o.Output, report.Results{Verb: verb, Version: currentBuild().Version, Rules: run.KnownRules(formats())})
	all.Verbose = o.verbose
	all.Paths = paths
	all.Flags, all.Server, all.Selected = o.repeated()
	return all
}
