// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Verification is the verdict on a live cluster, for programs.
type Verification struct {
	TypeMeta
	OK         bool                `json:"ok"`
	Cluster    string              `json:"cluster,omitempty"`
	Version    string              `json:"version"`
	Stage      string              `json:"stage"`
	Reached    string              `json:"reached"`
	Nodes      []check.Node        `json:"nodes"`
	Lease      check.Lease         `json:"lease"`
	Findings   []transform.Finding `json:"findings"`
	NotChecked []check.NotChecked  `json:"notChecked"`
}

// NewVerification describes a verdict.
func NewVerification(o *observed.Observation, c check.Choice, v check.Verdict) Verification {
	out := Verification{
		TypeMeta: Type("Verification"), OK: v.OK(), Version: o.Version, Stage: c.Check.Stage, Reached: v.Reached,
		Nodes: append([]check.Node{}, v.Nodes...), Findings: Findings(v.Findings), NotChecked: append([]check.NotChecked{}, v.NotChecked...),
		Lease: v.Lease,
	}
	if out.Lease.Owner == "" || v.Lease.Life == observed.Dead {
		out.Lease.Owner = "none"
	}
	return out
}

// WriteVerification writes a verdict for people.
func WriteVerification(w io.Writer, p Palette, v Verification) {
	if v.Cluster != "" {
		fmt.Fprintf(w, "cluster           %s\n", v.Cluster)
	}
	if v.Version != "" {
		fmt.Fprintf(w, "Kubernetes        %s\n", v.Version)
	}
	fmt.Fprintf(w, "stage reached     %s\n", cmp.Or(v.Reached, "none"))
	fmt.Fprintf(w, "migration lease   %s\n", leaseText(v.Lease))
	good := lists.Where(v.Nodes, func(n check.Node) bool { return n.OK })
	fmt.Fprintf(w, "nodes             %d of %d ok\n\n", len(good), len(v.Nodes))
	WriteFindings(w, p, v.Findings, "")
	for _, why := range lists.Distinct(lists.Map(v.NotChecked, func(n check.NotChecked) string { return n.Why })) {
		rules := rulesOf(v.NotChecked, func(n check.NotChecked) bool { return n.Why == why })
		fmt.Fprintln(w, p.Wrap("not checked, because "+why+": "+rules, ""))
	}
	needed := v.needed()
	switch {
	case v.OK:
		fmt.Fprintln(w, p.paint(green, "ok"))
	case needed != "":
		what := "whether the stage " + v.Stage + " is done"
		if v.Stage == "" {
			what = "whether the cloud controllers run"
		}
		fmt.Fprintln(w, p.paint(red, "not ok")+": "+what+" is unknown without "+needed)
	default:
		fmt.Fprintln(w, p.paint(red, "not ok"))
	}
}

// needed are the rules that had nothing to check, and without which the verdict is unknown.
func (v Verification) needed() string {
	return rulesOf(v.NotChecked, func(n check.NotChecked) bool { return n.Needed })
}

func rulesOf(all []check.NotChecked, is func(check.NotChecked) bool) string {
	return list(lists.Map(lists.Where(all, is), func(n check.NotChecked) string { return n.Rule }))
}

// leaseText is who holds the migration lease.
func leaseText(l check.Lease) string {
	switch {
	case l.Holder == "" && l.Life == observed.Unknown:
		return "not seen"
	case l.Holder == "":
		return "no holder"
	case l.Owner == "none":
		return fmt.Sprintf("neither manager: held by %s (%s)", l.Holder, l.Life)
	}
	return fmt.Sprintf("%s (%s)", l.Owner, l.Life)
}
