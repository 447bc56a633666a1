// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/verify"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Check is what a cluster has to show at one point of the way.
type Check struct {
	// NodesOnly says that nothing is looked at but whether the control planes are
	// ready: no stage begins or ends without them.
	NodesOnly bool
	// Stage is the one whose rules judge the cluster; "" for what always has to hold.
	Stage string
	// AtLeast and AtMost are stages between which the managers have to be, as they
	// show it; "" for no bound.
	AtLeast, AtMost string
	// Either manager may hold the migration lease: after an undone switch, or where a
	// leader was lost, it is the cloud-controller-manager, and the switch is as safe.
	Either bool
}

// After is what has to hold after a stage.
func (r Planner) After(stage string) Check {
	c := Check{Stage: stage, AtLeast: stage}
	switch stage {
	case stages.InstallCCM:
		if r.Target.NoLeaderMigration {
			return Check{NodesOnly: true} // both managers are owners until the switch
		}
	case stages.CordonControlPlane:
		c.AtLeast, c.Either = stages.InstallCCM, true
	case stages.SwitchToExternal:
		if r.Target.NoLeaderMigration {
			c.Stage = stages.VerifyProviderIDs // there is no lease to look at
		}
	case stages.UncordonControlPlane, stages.VerifyProviderIDs:
		c.AtLeast = stages.SwitchToExternal
	case stages.DisableLeaderMigration:
		if r.Target.KeepLeaderMigration {
			c.AtLeast = stages.SwitchToExternal
		}
	}
	return c
}

// before is what has to hold before a stage changes anything: what holds after the
// stage before it.
func (r Planner) before(p *transform.Plan, stage string) Check {
	i := slices.IndexFunc(p.Steps, func(s transform.PlannedStage) bool { return s.Stage.Name == stage })
	if i <= 0 || r.Target.NoLeaderMigration {
		return Check{NodesOnly: r.Target.NoLeaderMigration && stage == stages.SwitchToExternal}
	}
	return r.Resumed(p.Steps[i-1].Stage.Name)
}

// Resumed is what has to hold after a stage that was done some time ago.
func (r Planner) Resumed(stage string) Check {
	c := r.After(stage)
	c.Either = c.Either || stage == stages.InstallCCM
	return c
}

// Undone is what has to hold once a stage was taken back. After the undone switch
// either manager may hold the lease: none gives it back while it runs.
func (r Planner) Undone(stage string) Check {
	switch stage {
	case stages.DisableLeaderMigration:
		return Check{Stage: stages.SwitchToExternal, AtLeast: stages.SwitchToExternal, AtMost: stages.SwitchToExternal}
	case stages.SwitchToExternal:
		return Check{NodesOnly: r.Target.NoLeaderMigration}
	case stages.InstallCCM:
		if r.Target.NoLeaderMigration {
			return Check{}
		}
		return Check{Stage: stages.EnableLeaderMigration, AtMost: stages.EnableLeaderMigration}
	case stages.EnableLeaderMigration:
		return Check{Stage: stages.GrantMigrationLease, AtMost: stages.GrantMigrationLease}
	}
	return Check{}
}

// Unmet returns what a verdict on an observation lacks of a check, as findings; none
// where it holds. Nodes that are not ready come first: a DaemonSet, for one, wants no
// pod on them, and what is said of it is not the cause.
func (c Check) Unmet(seen *observation.Observation, v verify.Verdict) []transform.Finding {
	if c.NodesOnly {
		return notReady(v, controlPlanes(seen))
	}
	open := notReady(v, nil)
	for _, f := range v.Findings {
		if f.Stops() && f.Rule != verify.NodeNotReady && !(c.Either && f.Rule == "lease-wrong-owner") {
			open = append(open, f)
		}
	}
	names := stages.Names()
	at := slices.Index(names, c.reached(seen, v))
	switch {
	case c.AtLeast != "" && at < slices.Index(names, c.AtLeast):
		open = append(open, notThere("the managers do not show the result of "+c.AtLeast+" yet"))
	case c.AtMost != "" && at > slices.Index(names, c.AtMost):
		open = append(open, notThere("the managers still show the result of "+v.Reached))
	}
	return open
}

// notReady returns the findings about nodes that are not ready, of some paths; nil
// for all.
func notReady(v verify.Verdict, of map[string]bool) []transform.Finding {
	var open []transform.Finding
	for _, f := range v.Findings {
		if f.Rule == verify.NodeNotReady && f.Stops() && (of == nil || of[f.Path]) {
			open = append(open, f)
		}
	}
	return open
}

// controlPlanes are the paths of findings about them.
func controlPlanes(seen *observation.Observation) map[string]bool {
	paths := map[string]bool{}
	for _, n := range seen.Nodes {
		paths[verify.NodePath(n.Name)] = n.ControlPlane()
	}
	return paths
}

// reached is the last stage that shows. Where kube-controller-manager is no pod, as
// with RKE, it shows by the migration lease alone; once nobody needs that, the
// cloud-controller-manager without the flag is what is left to see, and that the
// other one is external is what RKE applied.
func (c Check) reached(seen *observation.Observation, v verify.Verdict) string {
	hidden := !slices.ContainsFunc(seen.Managers, func(m observation.Manager) bool { return m.Component == observation.KubeManager })
	late := slices.Index(stages.Names(), c.AtLeast) >= slices.Index(stages.Names(), stages.SwitchToExternal)
	switch {
	case hidden && late && len(seen.DaemonSets) > 0 && !migrates(seen):
		return stages.DisableLeaderMigration
	case hidden && v.Lease.Life == observation.Dead && !migrates(seen):
		return stages.GrantMigrationLease // the record is of somebody who runs no more
	}
	return v.Reached
}

// migrates reports whether a cloud-controller-manager takes part in the migration.
func migrates(seen *observation.Observation) bool {
	return slices.ContainsFunc(seen.DaemonSets, func(d observation.DaemonSet) bool { return flagged(args.Command(d.Args)) }) ||
		slices.ContainsFunc(seen.Managers, func(m observation.Manager) bool {
			return m.Component == observation.CloudManager && flagged(args.Command(m.Args))
		})
}

// flagged reports whether arguments turn leader migration on.
func flagged(list []args.Arg) bool {
	flag, set := args.Last(list, leadermigration.Flag)
	return set && flag.True()
}

func notThere(message string) transform.Finding {
	return transform.Finding{
		Rule: "stage-not-reached", Severity: transform.Error, Path: "kube-system/pods", Message: message,
		Fix: "look at the arguments of both managers, and which of their pods were not replaced",
	}
}

// Choice is what the rules are asked for.
func (c Check) Choice(t transform.Target, accept []string) verify.Choice {
	return verify.Choice{Stage: c.Stage, Version: t.Version, Accept: accept}
}

// TwoOwners reports whether findings say that both managers run the cloud
// controllers. Pods and leases that are about to go may say so for a moment.
func TwoOwners(findings []transform.Finding) bool { return finds(findings, "two-owners") }

// Hopeless reports whether findings do not pass by waiting: a node that came back
// under another name stays it, and one that joined stays new.
func Hopeless(findings []transform.Finding) bool {
	return finds(findings, "node-renamed") || finds(findings, "node-new")
}

func finds(findings []transform.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f transform.Finding) bool { return f.Rule == rule && f.Stops() })
}
