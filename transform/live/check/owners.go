// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// cloudControllersTwice takes leases that were looked at once for live: the arguments are
// evidence enough.
var cloudControllersTwice = rule{Rule: transform.Rule{ID: "cloud-controllers-twice", Severity: transform.Error, Guards: always,
	Doc: "According to their arguments and leases both managers run the same cloud controllers, or a node runs two static pods of kube-controller-manager: a warning if the two are equal."}.Because(
	"Both managers create, change and delete the same load balancers and routes.", transform.SourceMigration, "Undo the last stage, and check the flags of both managers.", "Never while both run."),
	Check: func(j *evaluation, found *transform.Findings) {
		leases := assumed(j.leases)
		s := ownersOf(j.processes, leases)
		twins := j.twins(found)
		switch {
		case s.Unknown != "" && !twins && len(j.cloud())+len(j.cloudPods()) > 0:
			found.On(leasePath(j.lease().Name), "whether both managers run the cloud controllers is unknown: "+s.Unknown, "check the arguments of the manager, on its machine or in the cluster's YAML").Severity = transform.Note
			return
		case s.Unknown != "" || s.Count < 2:
			return
		}
		names := lists.Map(s.Doubled, func(c Controller) string { return string(c) })
		causes := causesOf(j.processes, leases, s.Doubled)
		found.On(leasePath(j.lease().Name), fmt.Sprintf("%s run %s at once: %s", strings.Join(names, ", "), where(s), strings.Join(reasons(causes, s), "; ")), remedyOfTwo(causes))
	}, Lacks: seen(observed.Pods, observed.Leases)}

// remedyOfTwo reports what to do about managers that own the same controllers.
func remedyOfTwo(causes []Process) string {
	const stop = "stop one of the two now: scale down the cloud-controller-manager, or "
	names := lists.Map(lists.Where(causes, hasFlag), func(p Process) string { return p.Migration })
	if len(lists.Distinct(names)) > 1 {
		return stop + "set the same leaderName in both configurations"
	}
	return stop + "set the flag for both, and configurations that list these controllers by their names in each manager"
}

// where reports where controllers run that have two owners: pods of one manager that
// do not elect one leader are two owners as well.
func where(s Ownership) string {
	if len(s.Owners) == 1 {
		return "twice in pods of " + s.Owners[0]
	}
	return "in both managers"
}

// reasons reports how each owner comes to run a controller.
func reasons(causes []Process, s Ownership) []string {
	list := lists.Map(causes, func(p Process) string { return named(p) + " " + reason(p, s) })
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// named is a manager, with its namespace where that is not the usual one.
func named(p Process) string {
	if p.Space() != leadermigration.Namespace {
		return p.Component + " in " + p.Space()
	}
	return p.Component
}

func reason(p Process, s Ownership) string {
	switch {
	case !p.Elects:
		return "has leader-elect=false"
	case len(s.Owners) == 1:
		return "elects its leader with the lease " + p.Main
	case !p.Flag:
		return "has no enable-leader-migration"
	case slices.ContainsFunc(s.Doubled, func(c Controller) bool { return p.Modes[c] == UnderMain }):
		return "does not have them in its leader migration configuration"
	}
	return "holds the lease " + p.Migration
}

// twins finds two static pods of kube-controller-manager on one node: the kubelet
// runs every file of its manifest folder, also a copy that was kept there. Either may
// lead, so where they differ no one can determine what runs next. A pod of the API server
// has a service account, and two of those on a node are a rollout.
func (j *evaluation) twins(found *transform.Findings) (any bool) {
	first := map[string]Process{}
	for _, p := range j.processes {
		if p.Component != observed.KubeManager || p.Account != "" || p.Node == "" || !p.Running {
			continue
		}
		other, again := first[p.Node]
		if !again {
			first[p.Node] = p
			continue
		}
		any = true
		f := found.On(p.Path(), "a second static pod of kube-controller-manager runs on the node "+p.Node+", next to "+other.Pod+": either one can be the leader",
			"check the manifest folder of the kubelet for a second file of kube-controller-manager, such as a backup, and move it out of the folder")
		if alike(p, other) {
			f.Severity = transform.Warning
			f.Message += ". They do the same until one of the two files changes"
		}
	}
	return any
}

// alike reports whether two processes do the same with the cloud controllers.
func alike(a, b Process) bool {
	return a.Loops == b.Loops && a.Flag == b.Flag && a.Elects == b.Elects && a.Main == b.Main && a.Migration == b.Migration &&
		a.Hidden == b.Hidden && a.Unreadable == b.Unreadable && maps.Equal(a.Modes, b.Modes)
}
