// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package check evaluates a cluster as it was observed: the rules of live clusters, which manager
// runs the cloud controllers and did so when, and whether they work.
//
// Invariant: a rule finds what was seen, and where an argument, a configuration or a lease could not be
// read the answer is unknown, never none. No verdict rests on the clock of another machine. A manager owns
// a controller if it is the live leader of its main lease and runs it outside of the migration lease, or
// if it is the live holder of the migration lease and really runs cloud loops. The holder in a record alone
// proves nothing: the dead leave theirs there, and an identity ends with the container of its process.
package check

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Choice is what the operator wants to know.
type Choice struct {
	Check stages.Check // what has to hold; the zero one for what always has to
	// Late is what has to hold instead where no manager is in-tree any more; nil for the same.
	Late    *stages.Check
	Version string   // the release that the cluster is to move to, if any
	Accept  []string // rules whose errors are accepted
	// Given are the arguments of a kube-controller-manager that is no pod, for what depends on its timings.
	Given []Given
	// Cluster is what the commands of advice need to reach the cluster.
	Cluster action.Cluster
}

// Verdict is what there is to say about an observation.
type Verdict struct {
	Reached  string // the last stage whose result shows; "" for none
	Nodes    []Node
	Lease    Lease
	Now      Ownership
	Findings []transform.Finding
	// NotChecked are the rules that had nothing to check.
	NotChecked []NotChecked
}

// Node is the verdict on one Node.
type Node struct {
	Name       string `json:"name"`
	ProviderID string `json:"providerID"`
	OK         bool   `json:"ok"`
}

// Lease is the migration lease.
type Lease struct {
	Name   string        `json:"name"`
	Holder string        `json:"holder"`
	Owner  string        `json:"owner"` // component, or "" for neither
	Life   observed.Life `json:"life"`
}

// OK reports whether nothing was found that stops, and the stage that was requested
// could be told.
func (v Verdict) OK() bool {
	return !slices.ContainsFunc(v.Findings, transform.Finding.Stops) && v.Known()
}

// Known reports whether nothing was missing that the stage needs.
func (v Verdict) Known() bool {
	return !slices.ContainsFunc(v.NotChecked, func(n NotChecked) bool { return n.Needed })
}

// Evaluate applies the rules to an observation.
func Evaluate(o *observed.Observation, c Choice) Verdict {
	j := newEvaluation(o, c)
	v := Verdict{Reached: j.reached(), Lease: j.lease(), Now: ownersOf(j.processes, j.leases)}
	v.Findings = j.findings()
	v.NotChecked = j.notChecked(v.Findings)
	bad := map[string]bool{}
	for _, f := range transform.Stopping(v.Findings) {
		bad[f.Path] = true
	}
	v.Nodes = lists.Map(o.Nodes, func(n observed.Node) Node { return Node{n.Name, n.ProviderID, !bad[nodePath(n.Name)]} })
	return v
}

// Unmet returns what a cluster lacks of what was requested; none where it holds. Nodes that
// are not ready come first: a DaemonSet, for one, wants no pod on them, and what is said of
// it is not the cause. That no manager runs the cloud controllers comes after what keeps one from it, and before what waits
// for one. What the managers show comes last: the rest says why.
func (v Verdict) Unmet() []transform.Finding {
	rank := map[string]int{
		idNodeNotReady: -1, "cloud-controllers-nowhere": 1,
		"lease-wrong-holder": 2, idLoadBalancerPending: 2, idLoadBalancerStale: 2, "node-uninitialized": 2, "provider-id-missing": 2,
		"cloud-controllers-twice": 3, idStageNotReached: 4,
	}
	open := transform.Stopping(v.Findings)
	slices.SortStableFunc(open, func(a, b transform.Finding) int { return rank[a.Rule] - rank[b.Rule] })
	return open
}

// findings are those of the rules that check what was requested.
func (j *evaluation) findings() []transform.Finding {
	found := transform.FindingsOf(liveRules, j, j.Check.Stage, j.Accept)
	for i := range found {
		found[i].Fix = j.Cluster.In(found[i].Fix)
	}
	if !j.Check.NodesOnly {
		return found
	}
	control := map[string]bool{}
	for _, n := range j.Nodes {
		control[nodePath(n.Name)] = n.ControlPlane()
	}
	return slices.DeleteFunc(found, func(f transform.Finding) bool { return f.Rule != idNodeNotReady || !control[f.Path] })
}

// Reached returns the last stage whose result shows on a cluster; "" for none.
func Reached(o *observed.Observation) string { return newEvaluation(o, Choice{}).reached() }

// evaluation is an observation with what follows from it.
type evaluation struct {
	*observed.Observation
	Choice
	processes []Process
	timed     []Process // with those whose arguments are given
	leases    leaseFinder
}

func newEvaluation(o *observed.Observation, c Choice) *evaluation {
	leases := leasesOf(o.Leases)
	if !o.Saw(observed.Leases) {
		leases = notSeen
	}
	j := &evaluation{o, c, Processes(o.Managers), processesOf(o.Managers, c.Given), leases}
	if c.Late != nil && j.late() {
		j.Check = *c.Late
	}
	return j
}

// late reports whether a cluster has no in-tree provider any more, and no manager that takes
// part in a migration from one.
func (j *evaluation) late() bool {
	return k8s.From(j.Observation.Version, aws.FirstWithout) && !slices.ContainsFunc(j.cloud(), hasFlag) && !j.any(observed.KubeManager, hasFlag)
}

// of returns the processes of a component whose arguments could be read.
func (j *evaluation) of(component string) []Process {
	return lists.Where(j.processes, func(p Process) bool { return p.Component == component && !p.Hidden })
}

func (j *evaluation) any(component string, is func(Process) bool) bool {
	return slices.ContainsFunc(j.of(component), is)
}

func (j *evaluation) lease() Lease { return leaseOf(j.processes, j.leases) }

// nodePath is the path of findings about a Node.
func nodePath(name string) string { return "nodes/" + name }

func hasFlag(p Process) bool  { return p.Flag }
func hasLoops(p Process) bool { return p.Loops }

type rule = transform.Checked[*evaluation]

// always are all stages; the others are those after which something has to hold.
var (
	always      = stages.Names()
	lockable    = stages.Where(func(c stages.Check) bool { return c.Granted && c.Lease == stages.Anyone })
	flagOn      = stages.Where(func(c stages.Check) bool { return c.Lease != stages.Anyone })
	underLease  = stages.Where(func(c stages.Check) bool { return c.Lease.Needed() })
	managerRuns = stages.Where(func(c stages.Check) bool { return c.Manager })
	externally  = stages.Where(func(c stages.Check) bool { return c.External })
	released    = stages.Where(func(c stages.Check) bool { return c.Released })
	uncordoned  = stages.Where(func(c stages.Check) bool { return !c.Cordoned })
)

// liveRules is the one table of them.
var liveRules = transform.Table(managerRules, leaseRules, loadBalancerRules, nodeRules, resultRules)

// Rules are the rules of live clusters, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(liveRules) }

// ofStages reports whether one of the stages was asked for whose result a rule alone shows.
func ofStages(list []string) func(*evaluation) bool {
	return func(j *evaluation) bool { return slices.Contains(list, j.Check.Stage) }
}

// NotChecked is a rule that found nothing because what it checks was not seen.
type NotChecked struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
	// Needed means that the stage that was requested, or without one the cluster, cannot
	// be checked without it.
	Needed bool `json:"needed"`
}

// notChecked lists the rules that had nothing to check.
func (j *evaluation) notChecked(found []transform.Finding) []NotChecked {
	var list []NotChecked
	for _, r := range liveRules {
		of := j.Check.Stage == "" || slices.Contains(r.Guards, j.Check.Stage) // what was requested
		if !of || slices.ContainsFunc(found, func(f transform.Finding) bool { return f.Rule == r.ID }) {
			continue
		}
		if why := r.Lacks(j); why != "" { // each rule of the table has it
			list = append(list, NotChecked{r.ID, why, r.Needed != nil && r.Needed(j) && !slices.ContainsFunc(j.Accept, r.Is)})
		} else if j.KubeSystemOnly && slices.Contains(aboutManagers, r.ID) {
			list = append(list, NotChecked{Rule: r.ID, Why: "nothing outside kube-system was checked: " + j.outside()})
		}
	}
	return list
}

// managersSeen requires the pods of the managers where they have to show a stage.
func managersSeen(j *evaluation) string {
	if j.Check.AtLeast == "" && j.Check.AtMost == "" {
		return ""
	}
	return seen(observed.Pods)(j)
}

// aboutManagers are rules that a manager in any namespace can break.
var aboutManagers = []string{"ccm-args-unsafe", "cloud-controllers-twice", "daemonset-empty", "daemonset-restarting", rules.LeaseTimingsUnsafe.ID}

// outside reports why other namespaces were not looked at.
func (j *evaluation) outside() string {
	if j.Partial {
		return "the dump has no pods of other namespaces, which kubectl get -A prints"
	}
	return "no permission to list daemonsets, deployments and pods in all namespaces"
}

// What people call the kinds.
var called = map[string]string{
	observed.Nodes: "nodes", observed.Leases: "leases of kube-system", observed.DaemonSets: "daemonsets of kube-system",
	observed.Pods: "pods of kube-system", observed.Services: "services", observed.Events: "events", observed.Volumes: "persistentvolumes",
	observed.StorageClasses: "storageclasses", observed.CSINodes: "csinodes",
}

// seen requires that kinds were looked at. kubectl prints nothing for a kind without
// objects, so their absence from a dump does not say that there are none.
func seen(kinds ...string) func(*evaluation) string {
	return func(j *evaluation) string {
		absent := lists.Map(slices.DeleteFunc(slices.Clone(kinds), j.Saw), func(kind string) string { return called[kind] })
		if len(absent) == 0 {
			return ""
		}
		return "the dump has no " + strings.Join(absent, ", ")
	}
}

// ranchers requires the objects of Rancher's own cluster; all others have none.
func ranchers(j *evaluation) string {
	if len(j.Withheld) == 0 {
		return ""
	}
	return "these permissions are missing on Rancher's own cluster: " + strings.Join(j.Withheld, ", ")
}

// compared also requires a snapshot.
func compared(kind string) func(*evaluation) string {
	return func(j *evaluation) string {
		if j.Before == nil {
			return "there is no snapshot to compare with"
		}
		return seen(kind)(j)
	}
}

// reviews are answers of the API server, which no dump of kubectl has.
func reviews(j *evaluation) string {
	if j.Partial && len(j.Reviews) == 0 {
		return "the dump does not show who has permission on the lease; rke-lm verify asks the API server"
	}
	return ""
}

// anyArguments requires the arguments of a cloud-controller-manager.
func anyArguments(j *evaluation) string {
	if len(j.cloud()) > 0 {
		return ""
	}
	return seen(observed.DaemonSets, observed.Pods)(j)
}

// timingsSeen requires the arguments of a kube-controller-manager. That of RKE1 is no pod.
func timingsSeen(j *evaluation) string {
	if why := seen(observed.Pods)(j); why != "" || slices.ContainsFunc(j.timed, func(p Process) bool { return p.Component == observed.KubeManager && !p.Hidden }) {
		return why
	}
	return "no pod shows the arguments of kube-controller-manager"
}

// conditions requires that nodes say of themselves whether they are ready.
func conditions(j *evaluation) string {
	if why := seen(observed.Nodes)(j); why != "" {
		return why
	}
	if len(j.Nodes) > 0 && !slices.ContainsFunc(j.Nodes, func(n observed.Node) bool { return n.Ready != nil }) {
		return "no node has the condition Ready, so the dump does not include it"
	}
	return ""
}

// anyManager requires a DaemonSet, or the pods among which there is none; and nodes
// to compare with.
func anyManager(j *evaluation) string {
	if len(j.DaemonSets) == 0 && !j.Saw(observed.Pods) {
		return seen(observed.DaemonSets, observed.Pods)(j)
	}
	return seen(observed.Nodes)(j)
}
