// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Choice is what the operator wants to know.
type Choice struct {
	Stage   string   // what has to hold behind this stage; "" for what always has to
	Version string   // the release that the cluster is to move to, if any
	Accept  []string // rules whose errors are acknowledged
}

// Verdict is what there is to say about an observation.
type Verdict struct {
	Reached  string // the last stage whose result shows; "" for none
	Nodes    []Node
	Lease    Lease
	Now      ownership.State
	Findings []transform.Finding
	// NotJudged are the rules that had nothing to judge.
	NotJudged []NotJudged
}

// Node is the verdict on one Node.
type Node struct {
	Name, ProviderID string
	OK               bool
}

// Lease is the migration lease.
type Lease struct {
	Name, Holder string
	Owner        string // component, or "" for neither
	Life         observation.Life
}

// OK reports whether nothing was found that stops, and the stage that was asked for
// could be told.
func (v Verdict) OK() bool {
	return !slices.ContainsFunc(v.Findings, transform.Finding.Stops) && v.Told()
}

// Told reports whether nothing was missing that the stage needs.
func (v Verdict) Told() bool {
	return !slices.ContainsFunc(v.NotJudged, func(n NotJudged) bool { return n.Needed })
}

// Evaluate judges an observation.
func Evaluate(o *observation.Observation, c Choice) Verdict {
	j := newJudge(o, c)
	v := Verdict{Reached: j.reached(), Lease: j.lease(), Now: ownership.Evaluate(j.processes, j.leases)}
	v.Findings = transform.FindingsOf(checked(), j, c.Stage, c.Accept)
	v.NotJudged = j.notJudged(v.Findings)
	bad := map[string]bool{}
	for _, f := range v.Findings {
		if f.Stops() {
			bad[f.Path] = true
		}
	}
	for _, n := range o.Nodes {
		v.Nodes = append(v.Nodes, Node{n.Name, n.ProviderID, !bad[NodePath(n.Name)]})
	}
	return v
}

// Reached returns the last stage whose result shows on a cluster; "" for none.
func Reached(o *observation.Observation) string { return newJudge(o, Choice{}).reached() }

// evaluation is an observation with what follows from it.
type evaluation struct {
	*observation.Observation
	Choice
	processes []ownership.Process
	leases    ownership.Leases
}

func newJudge(o *observation.Observation, c Choice) *evaluation {
	leases := ownership.Of(o.Leases)
	if !o.Looked(observation.Leases) {
		leases = ownership.Unseen
	}
	return &evaluation{o, c, ownership.ReadAll(o.Managers), leases}
}

// of returns the processes of a component whose arguments could be read.
func (j *evaluation) of(component string) []ownership.Process {
	return slices.DeleteFunc(slices.Clone(j.processes), func(p ownership.Process) bool { return p.Component != component || p.Hidden })
}

func (j *evaluation) any(component string, is func(ownership.Process) bool) bool {
	return slices.ContainsFunc(j.of(component), is)
}

func (j *evaluation) lease() Lease {
	owner, name := ownership.Holder(j.processes, j.leases)
	h := j.leases(name)
	return Lease{Name: name, Holder: h.Holder, Owner: owner, Life: h.Life}
}

// behind reports whether the chosen stage is one of those from first to last.
func (j *evaluation) behind(first, last string) bool {
	at := slices.Index(stages.Names(), j.Stage)
	return at >= slices.Index(stages.Names(), first) && at <= slices.Index(stages.Names(), last)
}

// found returns a finding about an object of the cluster.
func found(path, message, fix string) transform.Finding {
	return transform.Finding{Path: path, Message: message, Fix: fix}
}

// NodePath is the path of findings about a Node.
func NodePath(name string) string { return "nodes/" + name }

func hasFlag(p ownership.Process) bool  { return p.Flag }
func hasLoops(p ownership.Process) bool { return p.Loops }
