// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package course

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live"
)

// Check is what a cluster has to show at one point of the way.
type Check struct {
	None bool // nothing is looked at
	// Stage is the one whose rules judge the cluster; "" for what always has to hold.
	Stage string
	// AtLeast and AtMost are stages between which the managers have to be, as they
	// show it; "" for no bound.
	AtLeast, AtMost string
}

// Behind is what has to hold behind a stage.
func (w Way) Behind(stage string) Check {
	c := Check{Stage: stage, AtLeast: stage}
	switch stage {
	case transform.InstallCCM:
		if w.Target.NoLeaderMigration {
			return Check{None: true} // both managers are owners until the switch
		}
	case transform.CordonControlPlane:
		c.AtLeast = transform.InstallCCM
	case transform.SwitchToExternal:
		if w.Target.NoLeaderMigration {
			c.Stage = transform.VerifyProviderIDs // there is no lease to look at
		}
	case transform.UncordonControlPlane, transform.VerifyProviderIDs:
		c.AtLeast = transform.SwitchToExternal
	case transform.DisableLeaderMigration:
		if w.Target.KeepLeaderMigration {
			c.AtLeast = transform.SwitchToExternal
		}
	}
	return c
}

// ahead is what has to hold before a stage changes anything: what is behind the
// stage before it.
func (w Way) ahead(p *transform.Plan, stage string) Check {
	i := slices.IndexFunc(p.Steps, func(s transform.Step) bool { return s.Stage.Name == stage })
	if i <= 0 || w.Target.NoLeaderMigration {
		return Check{None: w.Target.NoLeaderMigration && stage == transform.SwitchToExternal}
	}
	return w.Behind(p.Steps[i-1].Stage.Name)
}

// Undone is what has to hold once a stage was taken back. Behind the undone switch
// either manager may hold the lease: none gives it back while it runs.
func (w Way) Undone(stage string) Check {
	switch stage {
	case transform.DisableLeaderMigration:
		return Check{Stage: transform.SwitchToExternal, AtLeast: transform.SwitchToExternal, AtMost: transform.SwitchToExternal}
	case transform.SwitchToExternal:
		return Check{None: w.Target.NoLeaderMigration}
	case transform.InstallCCM:
		if w.Target.NoLeaderMigration {
			return Check{}
		}
		return Check{Stage: transform.EnableLeaderMigration, AtMost: transform.EnableLeaderMigration}
	case transform.EnableLeaderMigration:
		return Check{Stage: transform.GrantMigrationLease, AtMost: transform.GrantMigrationLease}
	}
	return Check{}
}

// Open returns what a verdict lacks of a check, as findings; none where it holds.
func (c Check) Open(v live.Verdict) []transform.Finding {
	if c.None {
		return nil
	}
	var open []transform.Finding
	for _, f := range v.Findings {
		if f.Stops() {
			open = append(open, f)
		}
	}
	names := transform.StageNames()
	at := slices.Index(names, v.Reached)
	switch {
	case c.AtLeast != "" && at < slices.Index(names, c.AtLeast):
		open = append(open, notThere("the managers do not show the result of "+c.AtLeast+" yet"))
	case c.AtMost != "" && at > slices.Index(names, c.AtMost):
		open = append(open, notThere("the managers still show the result of "+v.Reached))
	}
	return open
}

func notThere(message string) transform.Finding {
	return transform.Finding{
		Rule: "stage-not-reached", Severity: transform.Error, Path: "kube-system/pods", Message: message,
		Fix: "look at the arguments of both managers, and which of their pods were not replaced",
	}
}

// Choice is what the rules are asked for.
func (c Check) Choice(t transform.Target, accept []string) live.Choice {
	return live.Choice{Stage: c.Stage, Version: t.Version, Accept: accept}
}

// Hopeless reports whether findings do not pass by waiting: a node that came back
// under another name stays it.
func Hopeless(findings []transform.Finding) bool {
	return slices.ContainsFunc(findings, func(f transform.Finding) bool { return f.Rule == "node-renamed" && f.Stops() })
}
