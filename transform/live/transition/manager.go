// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rules"
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
			return t, transform.ConflictIn("the cluster", stages.TimingsStay, stages.WithoutShortLeases)
		case leadermigration.HasTimings(arguments, leadermigration.CloudTimings()):
			t.ShortLeases = p.Target.Upgrades() || !p.Target.NoLeaderMigration // there is none past 1.26
		}
	}
	return t, nil
}

// Upgrade is an upgrade of a release in a transition.
type Upgrade struct {
	Transition Transition
	Action     action.HelmUpgrade
}

// Upgrades returns the upgrades of releases that stages have, as things are before the first of
// them.
func (r Planner) Upgrades(p *plan.Plan, names []string, back bool, seen *observed.Observation) ([]Upgrade, error) {
	var all []Upgrade
	for _, name := range names {
		step, err := p.Named(name)
		if err != nil {
			return nil, err
		}
		if step.Stage.Edit != nil {
			continue // its values are in a document
		}
		l, err := r.Plan(p, name, back, seen)
		if err != nil {
			return nil, err
		}
		if a, upgrades := chartOf(slices.Concat(l.Step.Stage.Before, l.Step.Stage.After)); upgrades {
			all = append(all, Upgrade{l, a})
		}
	}
	return all, nil
}

// Replaced returns the keys of the values of a release that an upgrade drops or changes although
// the migration does not require it. What it requires is what becomes of the same values if the
// operator names them as his file; of values that cannot be that file nothing is to change.
func (r Planner) Replaced(u Upgrade, has *yamledit.Document) ([]string, error) {
	gets, err := yamledit.ParseString(u.Action.Values, u.Transition.Files[u.Action.Values])
	if err != nil {
		return nil, err
	}
	values := ccm.Upgrade{Has: has.Root().Value(), Gets: gets.Root().Value(), Needs: has.Root().Value()}
	if needs, known := r.needed(u, has); known {
		values.Needs = needs.Root().Value()
	}
	return values.Replaced(r.Target), nil
}

// needed returns the values of a release as the migration requires them.
func (r Planner) needed(u Upgrade, has *yamledit.Document) (*yamledit.Document, bool) {
	t := r.Target
	t.Values = has
	p, err := plan.Build(r.Format, transform.Only(u.Transition.From()), t)
	if err != nil {
		return nil, false
	}
	files, err := filesOf(p, filesAgain)
	if err != nil {
		return nil, false
	}
	needs, err := yamledit.ParseString(u.Action.Values, files[u.Action.Values])
	return needs, err == nil && needs.Root().IsMap()
}

// olderManager finds a cloud-controller-manager whose image is older than the cluster: one minor
// later it would be two minors older than kube-apiserver, which is not supported.
func (r Planner) olderManager(p *plan.Plan, seen *observed.Observation) []transform.Finding {
	rule := rules.CCMMinorSkew.Rule
	if slices.Contains(r.Target.Accept, rule.ID) {
		return nil
	}
	for _, d := range seen.DaemonSets {
		tag := k8s.ParseImage(d.Image).Tag
		if semver.IsValid(tag) && semver.Compare(semver.MajorMinor(tag), semver.MajorMinor(p.Cluster.Version)) < 0 {
			return []transform.Finding{{
				Rule: rule.ID, Severity: transform.Error, Path: d.Namespace + "/" + d.Name,
				Message: "the cloud-controller-manager has the image " + tag + " on Kubernetes " + p.Cluster.Version + ", and can be one minor older than kube-apiserver at most",
				Fix:     "move its image to the minor of the cluster first, as " + stages.UpgradeCCM + " does",
			}}
		}
	}
	return nil
}
