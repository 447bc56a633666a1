// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Registration is how a Node with the provider ID of another provider gets one of AWS.
type Registration struct {
	Why     string
	Command string // what a person runs; "" where the Node must stay as it is
	// Restart is run on the machine once the Node is drained and deleted, so that it registers
	// again; "" where the machine is replaced.
	Restart string
}

// Registration reports how the first of the foreign Nodes gets a provider ID of AWS. It refuses
// what would cost the cluster its quorum.
func (r Planner) Registration(nodes []observed.Node, first observed.Node) Registration {
	if first.Etcd() {
		return replacement(nodes, first)
	}
	if first.ControlPlane() && ready(nodes, first, observed.Node.ControlPlane) == 0 {
		return Registration{Why: "the node " + first.Name + " is the only control plane that is ready, and a cluster without one cannot register it again: add a control plane first"}
	}
	why := "the node " + first.Name + " has the provider ID " + scheme(first) + ", which never changes: register it again"
	if first.ControlPlane() {
		why += ", one control plane at a time"
	}
	restart := r.Format.Live.Restart(first.ControlPlane())
	return Registration{
		Why:     why,
		Command: drain(first) + action.Command(" && kubectl delete node %--%s", first.Name) + "\n  # on its machine: " + restart,
		Restart: restart,
	}
}

func drain(n observed.Node) string {
	return action.Command("kubectl drain %--%s --ignore-daemonsets --delete-emptydir-data", n.Name)
}

// replacement is for an etcd member: RKE2 removes the member of a Node that is deleted, and
// the member's data does not let it join again.
func replacement(nodes []observed.Node, first observed.Node) Registration {
	members := len(lists.Where(nodes, observed.Node.Etcd))
	if left := ready(nodes, first, observed.Node.Etcd); left < members/2+1 {
		return Registration{Why: fmt.Sprintf("the node %s is one of %d etcd members, and %d of the others are ready: without it etcd would lose its quorum; take a snapshot of etcd, add members until the others are a majority, and then replace its machine", first.Name, members, left)}
	}
	return Registration{
		Why:     "the node " + first.Name + " has the provider ID " + scheme(first) + ", which never changes, and is an etcd member: RKE2 removes the member when the Node is deleted, so replace its machine, one at a time",
		Command: drain(first) + "\n  # in Rancher: delete its machine, and wait until the new one is Running",
	}
}

// KubeletRestart is a command that restarts the kubelet of a machine, so that it registers its Node.
type KubeletRestart struct {
	Node    string
	Address string // the InternalIP of the Node; "" where it is not known
	Command string
}

// Unregistered returns the first machine whose Node was deleted, and which has not registered it
// again. That of an etcd member is none: RKE2 has removed the member with the Node.
func (r Planner) Unregistered(machines []rollout.Machine, nodes []observed.Node) (KubeletRestart, bool) {
	for _, m := range machines {
		present := slices.ContainsFunc(nodes, func(n observed.Node) bool { return n.Name == m.Node })
		roles := r.Format.Live.Roles(m.Labels)
		if m.Node == "" || present || m.Deleting || roles.Etcd {
			continue
		}
		return KubeletRestart{m.Node, m.Address, r.Format.Live.Restart(roles.ControlPlane)}, true
	}
	return KubeletRestart{}, false
}

// Registered reports what a Node that registers again still lacks; "" for nothing.
func Registered(nodes []observed.Node, name string) string {
	i := slices.IndexFunc(nodes, func(n observed.Node) bool { return n.Name == name })
	switch {
	case i < 0:
		return "the node " + name + " has not registered again yet"
	case !nodes[i].OfProvider():
		return "the cloud-controller-manager has not set the provider ID of " + name + " yet"
	case !nodes[i].IsReady():
		return "the node " + name + " is not Ready yet"
	}
	return ""
}

// Replaced reports whether no machine is left that could register a Node again: a pool with
// unhealthyNodeTimeout replaces a machine whose Node was deleted.
func Replaced(machines []rollout.Machine, node string) bool {
	return len(machines) > 0 && !slices.ContainsFunc(machines, func(m rollout.Machine) bool { return m.Node == node && !m.Deleting })
}

// Others returns the first other control plane that is not ready, or "": two control planes are
// never down at once.
func Others(nodes []observed.Node, but observed.Node) string {
	n, _ := lists.Find(nodes, func(n observed.Node) bool { return n.Name != but.Name && n.ControlPlane() && !n.IsReady() })
	return n.Name
}

// ready counts the other Nodes of a kind that are ready.
func ready(nodes []observed.Node, but observed.Node, is func(observed.Node) bool) int {
	return len(lists.Where(nodes, func(n observed.Node) bool { return n.Name != but.Name && is(n) && n.IsReady() }))
}

func scheme(n observed.Node) string {
	s, _, _ := strings.Cut(n.ProviderID, "://")
	return s + "://"
}

// Evictions are what has to leave a Node before it is deleted.
type Evictions struct {
	Evict []string // namespace/name
	Going []string // that are evicted and not gone yet
	// Lost names a pod that no controller makes again elsewhere; "" for none.
	Lost string
}

// Evict sorts the pods of a Node as kubectl drain --ignore-daemonsets --delete-emptydir-data does
// (k8s.io/kubectl pkg/drain/filters.go): those of DaemonSets and static pods stay, those that ended
// do not matter.
func Evict(pods []corev1.Pod) Evictions {
	var e Evictions
	for i := range pods {
		p := &pods[i]
		name := p.Namespace + "/" + p.Name
		owner := metav1.GetControllerOf(p)
		switch {
		case stays(p, owner):
		case p.DeletionTimestamp != nil:
			e.Going = append(e.Going, name)
		case owner == nil && e.Lost == "":
			e.Lost = name
		default:
			e.Evict = append(e.Evict, name)
		}
	}
	slices.Sort(e.Evict)
	return e
}

func stays(p *corev1.Pod, owner *metav1.OwnerReference) bool {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	return static || ended || owner != nil && owner.Kind == "DaemonSet"
}

// Link is how Rancher finds the Node of a machine again that registered with another provider
// ID. Cluster API looks for the Node by the ID in the object of the machine's infrastructure, says
// some time later that it does not find it, and Rancher writes that ID only where there is none
// (rancher pkg/controllers/capr/machinenodelookup, cluster-api
// internal/controllers/machine/machine_controller_phases.go).
type Link struct {
	Object        corev1.ObjectReference
	Before, After string // provider IDs
	Why           string
}

// Relink returns the first that is missing.
func Relink(machines []rollout.Machine, nodes []observed.Node) (Link, bool) {
	for _, m := range machines {
		if m.Deleting || m.ProviderID == "" {
			continue
		}
		for _, n := range nodes {
			if n.Name == m.Node && n.ProviderID != m.ProviderID && n.OfProvider() && !strings.Contains(n.ProviderID, redact.Mark) {
				return Link{m.Infrastructure, m.ProviderID, n.ProviderID,
					"Rancher looks for the node " + n.Name + " by the provider ID " + m.ProviderID + ", which it had before: give the machine " + m.Name + " the provider ID of the node"}, true
			}
		}
	}
	return Link{}, false
}

// Command is the one that a person runs.
func (l Link) Command(namespace string) string {
	group, version, _ := strings.Cut(l.Object.APIVersion, "/")
	return "# on Rancher's own cluster:\n  " + action.Command(`kubectl -n %s patch %s.%s.%s/%s --type=merge -p %s`, namespace, l.Object.Kind, version, group, l.Object.Name, `{"spec":{"providerID":"`+l.After+`"}}`)
}

// Patch is the same for an API server. It fits only the ID of before.
func (l Link) Patch() jsonpatch.Patch {
	const at = "/spec/providerID"
	before, _ := json.Marshal(l.Before) // a string cannot fail
	after, _ := json.Marshal(l.After)
	return jsonpatch.Patch{{Op: jsonpatch.Test, Path: at, Value: before}, {Op: jsonpatch.Replace, Path: at, Value: after}}
}

// Unlinked names the first machine whose Node Rancher does not find, or "".
func Unlinked(machines []rollout.Machine) string {
	m, _ := lists.Find(machines, func(m rollout.Machine) bool { return m.Unlinked && !m.Deleting })
	return m.Name
}

const unschedulable = "unschedulable"

// Cordon returns a Node that is cordoned and carries the mark of a run. One that is
// cordoned already stays as it is, for it is another user's.
func Cordon(node *yamledit.Document, run string) (*yamledit.Document, error) {
	root := node.Root()
	e := node.Edit()
	if on, _ := root.Get("spec", unschedulable).Value().(bool); on {
		return node, nil
	}
	e.Put(root, true, "spec", unschedulable)
	e.Put(root, run, "metadata", "annotations", action.CordonAnnotation)
	after, _, err := e.Apply()
	return after, err
}

// Release returns a Node without the mark of a run, and not cordoned any more. One
// without the mark stays as it is.
func Release(node *yamledit.Document, run string) (*yamledit.Document, error) {
	root := node.Root()
	if !Marked(node, run) {
		return node, nil
	}
	e := node.Edit()
	e.Remove(root.Get("metadata", "annotations", action.CordonAnnotation))
	if at := root.Get("spec", unschedulable); at.Exists() {
		e.Remove(at)
	}
	after, _, err := e.Apply()
	return after, err
}

// Marked reports whether a run cordoned a Node.
func Marked(node *yamledit.Document, run string) bool {
	return node.Root().StringAt("metadata", "annotations", action.CordonAnnotation) == run
}

// WithoutProviderID are the Nodes without a provider ID of AWS.
type WithoutProviderID struct {
	Proven   []string        // without one, and their names prove their instances
	Unproven []string        // without one, and their names prove nothing
	Foreign  []observed.Node // with that of another provider, in the order in which to register them again
}

// Identify sorts Nodes by what gives them a provider ID. Machines of workers are registered
// again first, and those of etcd members last.
func Identify(nodes []observed.Node) WithoutProviderID {
	var u WithoutProviderID
	for _, n := range nodes {
		switch {
		case n.OfProvider():
		case n.ProviderID != "":
			u.Foreign = append(u.Foreign, n)
		case aws.NamesInstance(n.Name, n.Address):
			u.Proven = append(u.Proven, n.Name)
		default:
			u.Unproven = append(u.Unproven, n.Name)
		}
	}
	slices.SortStableFunc(u.Foreign, func(a, b observed.Node) int { return rank(a) - rank(b) })
	return u
}

func rank(n observed.Node) int {
	switch {
	case n.Etcd():
		return 2
	case n.ControlPlane():
		return 1
	}
	return 0
}

// Identified reports whether every Node has a provider ID of AWS.
func Identified(nodes []observed.Node) bool {
	return !slices.ContainsFunc(nodes, func(n observed.Node) bool { return !n.OfProvider() })
}

// Uninitialize returns a Node with the taint by which the cloud-controller-manager
// initializes it. One that has it, or a provider ID, stays as it is.
func Uninitialize(node *yamledit.Document) (*yamledit.Document, error) {
	root := node.Root()
	taints := root.Get("spec", "taints")
	tainted := slices.ContainsFunc(taints.Items(), func(t yamledit.Node) bool { return t.StringAt("key") == observed.Uninitialized })
	if tainted || root.StringAt("spec", "providerID") != "" {
		return node, nil
	}
	taint := yamledit.Map{{Key: "key", Value: observed.Uninitialized}, {Key: "value", Value: "true"}, {Key: "effect", Value: "NoSchedule"}}
	e := node.Edit()
	if taints.Exists() {
		e.Append(taints, taint)
	} else {
		e.Put(root, []any{taint}, "spec", "taints")
	}
	after, _, err := e.Apply()
	return after, err
}
