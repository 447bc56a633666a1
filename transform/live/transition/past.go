// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// past reports whether a stage of actions alone was done, as the cluster shows it: the
// object says nothing of it.
func (r Planner) past(p *plan.Plan, stage string, files map[string]string, seen *observed.Observation) bool {
	step, _ := p.Step(stage)
	return step.State == plan.ActionOnly && stages.Past(stage, shown(p, step, files, seen))
}

// shown is what a cluster shows of a stage of actions alone.
func shown(p *plan.Plan, step plan.Step, files map[string]string, seen *observed.Observation) stages.Observed {
	mark := stages.Mark(p.Cluster.Name)
	s := stages.Observed{
		Switched: stages.External(p), Cloud: len(seen.DaemonSets) > 0, Migrates: migrates(seen), Identified: Identified(seen.Nodes),
		Marked: slices.ContainsFunc(seen.Nodes, func(n observed.Node) bool { return n.Cordoned == mark }),
	}
	if chart, helm := chartOf(step.Stage.After); helm {
		s.Helm, s.Installed, s.Finished = true, installed(files[chart.Values], seen.DaemonSets), finished(files[chart.Values], seen.DaemonSets)
	}
	return s
}

// chartOf returns the installation of a chart among actions.
func chartOf(actions []action.Action) (action.HelmUpgrade, bool) {
	for _, a := range actions {
		if h, is := a.Op.(action.HelmUpgrade); is {
			return h, true
		}
	}
	return action.HelmUpgrade{}, false
}

// values is what a chart's values say of the manager.
type values struct {
	args []args.Arg
	tag  string
}

func read(text string) (values, bool) {
	d, err := yamledit.ParseString("values.yaml", text)
	if err != nil || !d.Root().IsMap() {
		return values{}, false
	}
	return values{args.Of(d.Root().Get("args").Value()), d.Root().StringAt("image", "tag")}, true
}

// installed reports whether a DaemonSet runs with exactly these values.
func installed(text string, sets []observed.DaemonSet) bool {
	v, ok := read(text)
	return ok && slices.ContainsFunc(sets, func(d observed.DaemonSet) bool {
		return k8s.ParseImage(d.Image).Tag == v.tag && sameArgs(v.args, args.Command(d.Args))
	})
}

// finished reports whether the managers have left the migration, with an image of
// the minor that the final values name: a later patch is someone's upgrade.
func finished(text string, sets []observed.DaemonSet) bool {
	v, ok := read(text)
	if !ok || flagged(v.args) {
		return ok && installed(text, sets)
	}
	return len(sets) > 0 && !slices.ContainsFunc(sets, func(d observed.DaemonSet) bool {
		return flagged(args.Command(d.Args)) || semver.MajorMinor(k8s.ParseImage(d.Image).Tag) != semver.MajorMinor(v.tag)
	})
}

// sameArgs reports whether a manager has all the arguments that were requested, and
// takes part in the migration just as was asked. Its chart may add some, and so may
// its command.
func sameArgs(wanted, has []args.Arg) bool {
	lacks := func(w args.Arg) bool {
		return !slices.ContainsFunc(has, func(h args.Arg) bool { return h.Name == w.Name && h.Value == w.Value })
	}
	return !slices.ContainsFunc(wanted, lacks) && flagged(wanted) == flagged(has)
}

// migrates reports whether a cloud-controller-manager takes part in the migration.
func migrates(seen *observed.Observation) bool {
	return slices.ContainsFunc(seen.DaemonSets, func(d observed.DaemonSet) bool { return flagged(args.Command(d.Args)) }) ||
		slices.ContainsFunc(seen.Managers, func(m observed.Manager) bool {
			return m.Component == observed.CloudManager && flagged(args.Command(m.Args))
		})
}

// flagged reports whether arguments turn leader migration on.
func flagged(list []args.Arg) bool { return args.Enables(list, leadermigration.Flag) }

// WithTimings is the choice for a plan with what the cloud-controller-managers of a cluster show: the shortest lease duration, and that
// they run with short leases. It fails with *transform.Conflict where these were chosen and a manager in the migration runs
// without.
func WithTimings(p *plan.Plan, t transform.Target, seen *observed.Observation) (transform.Target, error) {
	managers := lists.Where(seen.Managers, func(m observed.Manager) bool { return m.Component == observed.CloudManager })
	running := lists.Map(managers, func(m observed.Manager) []string { return m.Args })
	templates := lists.Map(seen.DaemonSets, func(d observed.DaemonSet) []string { return d.Args })
	for _, list := range append(running, templates...) {
		arguments := args.Command(list)
		timings, _ := leadermigration.TimingsOf(arguments)
		if t.CloudLease == 0 || timings.LeaseDuration < t.CloudLease {
			t.CloudLease = timings.LeaseDuration
		}
		switch {
		case t.ShortLeases && flagged(arguments) && leadermigration.LacksTimings(arguments):
			return t, &transform.Conflict{At: &yamledit.Error{File: "the cluster", What: stages.TimingsStay, Do: stages.WithoutShortLeases}}
		case leadermigration.HasTimings(arguments, leadermigration.CloudTimings()):
			t.ShortLeases = p.Target.Upgrades() || !p.Target.NoLeaderMigration // there is none past 1.26
		}
	}
	return t, nil
}
