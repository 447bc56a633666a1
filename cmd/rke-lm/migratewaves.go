// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// wavesOptions are the flags of migrate for many clusters.
type wavesOptions struct {
	*runOptions
	canaries []string
	size     int
	limits   waves.Limits
}

// wavesFlags are those that only many clusters have.
var wavesFlags = []string{"canary", "wave-size", "max-unavailable", "max-failures"}

func (m *wavesOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	defer group(f, wavesGroup)()
	f.StringArrayVar(&m.canaries, "canary", nil, "a cluster of the first wave, in which no failure is tolerated (repeatable)")
	f.IntVar(&m.size, "wave-size", 0, "number of clusters in each of the other waves (default: one wave with all of them)")
	f.IntVar(&m.limits.Unavailable, "max-unavailable", 1, "most clusters that are migrated at the same time")
	f.IntVar(&m.limits.Failures, "max-failures", 0, "most clusters that can fail before no other one starts")
}

// checkUnused refuses them for one cluster, where they mean nothing.
func (*wavesOptions) checkUnused(f *pflag.FlagSet) error {
	for _, name := range wavesFlags {
		if f.Changed(name) {
			return fmt.Errorf("--%s requires --selector; add it, or remove --%[1]s", name)
		}
	}
	return nil
}

func (m *wavesOptions) checkLimits() error {
	switch {
	case m.size < 0:
		return fmt.Errorf("--wave-size %d is negative; use a number of clusters", m.size)
	case m.limits.Failures < 0:
		return fmt.Errorf("--max-failures %d is negative; use a number of clusters, or 0 for none", m.limits.Failures)
	case m.limits.Unavailable < 1:
		return fmt.Errorf("--max-unavailable %d is less than 1, so no cluster could start; use a number of clusters", m.limits.Unavailable)
	}
	return nil
}

// start finds the clusters and migrates them in waves.
func (m *wavesOptions) start(ctx context.Context, cmd *cobra.Command) error {
	if err := m.checkLimits(); err != nil {
		return err
	}
	server, objects, err := m.find(ctx)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return exitcode.New(exitcode.Refused, rancher.ErrNone.Error()+" with these labels; rke-lm status lists the clusters of a Rancher")
	}
	of := map[string]oneOfMany{}
	var names []string
	for _, o := range objects {
		of[o.Title()], names = newOneOfMany(cmd, o), append(names, o.Title())
	}
	canaries, err := m.namedIn(objects)
	if err != nil {
		return err
	}
	ctx, closed := context.WithCancelCause(ctx)
	defer closed(nil)
	f := &migrate.Fleet{Waves: waves.Split(names, canaries, m.size), Limits: m.limits, Refused: m.refused(ctx, server, objects)}
	f.Open = func(cluster string) (migrate.Options, error) { return m.open(cmd.Context(), of[cluster]) }
	f.OnChange = m.shown(f.Waves, closed)
	if !m.yes {
		f.Agree = m.agree
	}
	return m.end(f.Run(ctx), commandLine(cmd, cmd.Name()))
}

// namedIn are the titles of the canaries, which have to be among the clusters.
func (m *wavesOptions) namedIn(objects []rancher.Object) ([]string, error) {
	var titles []string
	for _, name := range m.canaries {
		found := slices.DeleteFunc(slices.Clone(objects), func(o rancher.Object) bool {
			return !slices.Contains([]string{o.Title(), o.ID, o.Name, o.Display}, name)
		})
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("--canary %s: no such cluster among those with the labels of --selector", name)
		case 1:
			titles = append(titles, found[0].Title())
		default:
			return nil, fmt.Errorf("--canary %s: several clusters have this name; use NAMESPACE/NAME or the ID", name)
		}
	}
	return titles, nil
}

// refused are the clusters that cannot be planned, before any of them is changed.
func (m *wavesOptions) refused(ctx context.Context, server *rancher.Server, objects []rancher.Object) map[string]error {
	list := map[string]error{}
	for _, o := range objects {
		err := transform.Guard(o.Title(), func() error {
			_, err := m.plan(ctx, server, o)
			return err
		})
		if err != nil {
			list[o.Title()] = err
		}
	}
	return list
}

// oneOfMany is a cluster with the commands that continue its run alone, and revert it. They are made before
// clusters start together: the set of flags sorts itself when it is read.
type oneOfMany struct {
	object         rancher.Object
	resume, revert string
}

func newOneOfMany(cmd *cobra.Command, o rancher.Object) oneOfMany {
	one, many := []string{"--cluster=" + o.FullName()}, append([]string{"selector"}, wavesFlags...)
	return oneOfMany{o, commandLineWith(cmd, cmd.Name(), one, many...), commandLineWith(cmd, "rollback", one, append(many, forwardFlags...)...)}
}

// open makes the run over a cluster. Each has connections of its own, as a run over one
// cluster has.
func (m *wavesOptions) open(ctx context.Context, o oneOfMany) (migrate.Options, error) {
	server, err := m.Connect(run.RetryTime)
	if err != nil {
		return migrate.Options{}, err
	}
	r, err := m.runOver(ctx, server, o.object)
	r.Continue, r.Revert = o.resume, o.revert
	return r, err
}

// shown shows what happens in the format that was requested.
func (m *wavesOptions) shown(list []waves.Wave, end context.CancelCauseFunc) func(migrate.Member, migrate.Event) {
	text := &report.FleetText{Err: m.err, Palette: m.palette(m.err), Waves: list}
	text.Width, text.Height = size(underneath(m.err))
	var one migrate.Member
	show := m.untilClosed(func(e migrate.Event) {
		event := report.NewRunEvent(e)
		if m.output == "json" {
			if e.Type != "" {
				report.WriteJSONLine(m.out, event) // m.out keeps its errors
			}
			return
		}
		if m.output == "html" && e.Type != "" {
			m.page.add(event)
		}
		text.Write(one, event)
	}, end)
	return func(of migrate.Member, e migrate.Event) {
		one = of
		show(e)
	}
}

// agree asks on the terminal whether to start a wave.
func (m *wavesOptions) agree(ctx context.Context, w waves.Wave) (bool, error) {
	fmt.Fprintf(m.err, "\n%s:\n", w.Name)
	for _, c := range w.Clusters {
		fmt.Fprintf(m.err, "  %s\n", c)
	}
	return m.ask(ctx, w.Name)
}

// end writes the report and returns the code of the command.
func (m *wavesOptions) end(s migrate.Summary, again string) error {
	made := report.NewMigration(s, again)
	var failed error
	switch m.output {
	case "json":
		report.WriteJSONLine(m.out, made) // m.out keeps its errors
	case "html":
		report.WriteMigration(m.err, m.palette(m.err), made)
		for _, one := range s.Members {
			m.page.close(one.Cluster, string(one.State), one.Err)
		}
		failed = m.page.write(m.options, "migrate")
	default:
		report.WriteMigration(m.out, m.palette(m.out), made)
	}
	if err := errors.Join(s.Err, failed); err != nil {
		return exitcode.With(s.ExitCode(), err)
	}
	return withCode(int(s.ExitCode()))
}
