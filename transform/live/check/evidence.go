// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/rules"
)

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
