// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// cordon cordons Nodes for the switch, and uncordons those that a run over this cluster
// cordoned, and no others.
type cordon struct {
	*run
	mark    string          // on the Nodes that a run over this cluster cordons
	mayHold bool            // this run may have left Nodes cordoned
	foreign map[string]bool // Nodes that were cordoned before the run, and not by one
}

// cordonNodes cordons the Nodes that are not cordoned yet, and marks them.
func (c *cordon) cordonNodes(ctx context.Context, a action.Cordon) error {
	names, err := c.nodeNames(ctx, a.Selector, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if err != nil {
		return err
	}
	return forEach(ctx, names, c.cordonNode)
}

// cordonNode cordons a Node, and marks it.
func (c *cordon) cordonNode(ctx context.Context, name string) error {
	c.mayHold = true
	return c.change(ctx, actCordon, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Cordon(n, c.mark) })
}

// uncordonNodes uncordons the Nodes that a run over this cluster cordoned, and no
// other ones. One that cannot be uncordoned keeps none of the others.
func (c *cordon) uncordonNodes(ctx context.Context) error {
	names, err := c.nodeNames(ctx, "", func(n *corev1.Node) bool { return n.Annotations[action.CordonAnnotation] == c.mark })
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, c.change(ctx, actRelease, name, func(n *yamledit.Document) (*yamledit.Document, error) { return transition.Release(n, c.mark) }))
		if ctx.Err() != nil {
			break
		}
	}
	c.mayHold = c.mayHold && err != nil
	return err
}

// errMoved means that a Node changed since it was read, again and again.
var errMoved = errors.New("the node changes all the time; run the command again")

// nodeTries is how often a Node is read again that others write as well.
const nodeTries = 10

// change changes a Node by a patch that fits only the version that was read.
func (c *cordon) change(ctx context.Context, act, name string, edit func(*yamledit.Document) (*yamledit.Document, error)) error {
	for range nodeTries {
		before, err := c.node(ctx, name)
		if err != nil || before == nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
		if err != nil || len(p) == 0 {
			return err
		}
		err = c.write(ctx, act, c.own("Node", "", name), p.Digest(), func(ctx context.Context) error {
			return c.patchNode(ctx, name, p)
		})
		if !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict) {
			return err
		}
	}
	return errMoved
}

// noteForeign remembers which Nodes were cordoned before, and not by a run.
func (c *cordon) noteForeign(seen *observed.Observation) {
	c.foreign = map[string]bool{}
	for _, n := range seen.Nodes {
		if n.Unschedulable && n.Cordoned != c.mark {
			c.foreign[n.Name] = true
		}
	}
}

// noteReleased reports which of them are cordoned no more: RKE releases every Node at
// the end of its run.
func (c *cordon) noteReleased(seen *observed.Observation) {
	for _, n := range seen.Nodes {
		if c.foreign[n.Name] && !n.Unschedulable {
			delete(c.foreign, n.Name)
			c.note("the node " + n.Name + " was cordoned before the run, and was uncordoned since, as RKE does: cordon it again if it must stay cordoned")
		}
	}
}

// drain cordons a Node and evicts its pods, and waits until they are gone. The library of kubectl
// drain makes the evictions itself, which here are writes of the run.
func (r *run) drain(ctx context.Context, name string) error {
	if err := r.cordon.cordonNode(ctx, name); err != nil {
		return err
	}
	onNode := kube.Resource{Version: "v1", Name: "pods", Kind: "PodList", Options: metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		pods, err := kube.Collect(ctx, r.observer.Client, onNode, func(p *corev1.Pod, kept []corev1.Pod) []corev1.Pod { return append(kept, *p) })
		if err != nil {
			return condition{}, kube.Refusal(err)
		}
		e := transition.Evict(pods)
		if e.Lost != "" {
			return condition{}, fmt.Errorf("the node %s cannot be drained: no controller makes the pod %s again on another node; delete the pod, or move it", name, e.Lost)
		}
		refused := ""
		for _, pod := range e.Evict {
			why, err := r.evict(ctx, pod)
			if err != nil {
				return condition{}, err
			}
			if why != "" {
				refused = ": " + why
			}
		}
		left := len(e.Evict) + len(e.Going)
		return condition{done: left == 0, waiting: fmt.Sprintf("%d pods are still on the node %s%s", left, name, refused)}, nil
	})
}

// evict asks for the eviction of a pod. What a PodDisruptionBudget does not allow yet is requested
// again.
func (r *run) evict(ctx context.Context, pod string) (why string, err error) {
	namespace, name, _ := strings.Cut(pod, "/")
	eviction := policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	err = r.write(ctx, actEvict, r.own("Pod", namespace, name), "", func(ctx context.Context) error {
		_, err := r.observer.Do(ctx, kube.Request{
			What: "create pods/eviction", Method: http.MethodPost, Path: kube.Path("v1", "pods", namespace, name) + "/eviction", Body: eviction,
		})
		return err
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return "", nil
	case kube.HasStatus(err, http.StatusTooManyRequests):
		return "a PodDisruptionBudget does not allow the eviction of " + pod, nil
	}
	return "", kube.Refusal(err)
}

// register has the machines of Nodes with a foreign provider ID register them again, one at a
// time. It stops at the first one that a person has to see to: without a command that restarts a
// machine, and for an etcd member.
func (r *run) register(ctx context.Context) error {
	for {
		seen, err := r.observer.Observe(ctx)
		if err != nil {
			return err
		}
		foreign := transition.Identify(seen.Nodes).Foreign
		if len(foreign) == 0 {
			return nil
		}
		first := foreign[0]
		again := r.Planner.Registration(seen.Nodes, first)
		if r.Restart == nil && again.Restart != "" {
			again.Why += " (migrate does so itself with --restart-command)"
		}
		if r.Restart == nil || again.Restart == "" {
			return nodeActionRequired(again.Why, again.Command)
		}
		r.note(again.Why)
		if err := r.registerAgain(ctx, first, again.Restart); err != nil {
			return err
		}
	}
}

// registerAgain drains a Node, deletes it, and restarts its machine.
func (r *run) registerAgain(ctx context.Context, n observed.Node, restart string) error {
	if err := r.othersReady(ctx, n); err != nil {
		return err
	}
	if err := r.drain(ctx, n.Name); err != nil {
		return err
	}
	node := r.own("Node", "", n.Name)
	node.UID = n.UID
	if err := r.drop(ctx, node); err != nil {
		return err
	}
	return r.restart(ctx, transition.KubeletRestart{Node: n.Name, Address: n.Address, Command: restart})
}

// othersReady waits until no other control plane is down.
func (r *run) othersReady(ctx context.Context, n observed.Node) error {
	if !n.ControlPlane() {
		return nil
	}
	return r.awaitSeen(ctx, func(seen *observed.Observation) (condition, error) {
		other := transition.Others(seen.Nodes, n)
		return condition{done: other == "", waiting: "the control plane " + other + " is not Ready, and " + n.Name + " waits for it"}, nil
	})
}

// restart restarts a machine, and waits until its Node has a provider ID of AWS.
func (r *run) restart(ctx context.Context, m transition.KubeletRestart) error {
	if err := r.write(ctx, actRestart, r.own("Node", "", m.Node), "", func(ctx context.Context) error { return r.Restart(ctx, m) }); err != nil {
		return err
	}
	return r.awaitSeen(ctx, func(seen *observed.Observation) (condition, error) {
		lacks := transition.Registered(seen.Nodes, m.Node)
		if lacks == "" {
			return condition{done: true}, nil
		}
		machines, err := r.Server.Rollout(ctx, r.Object)
		return condition{done: err == nil && transition.Replaced(machines.Machines, m.Node), waiting: lacks}, err
	})
}

// resumeRegistration continues where a run ended after it had deleted a Node.
func (r *run) resumeRegistration(ctx context.Context) error {
	if !slices.Contains(r.todo, stages.SetProviderIDs) {
		return nil
	}
	machines, err := r.Server.Rollout(ctx, r.Object)
	if err != nil {
		return err
	}
	m, found := r.Planner.Unregistered(machines.Machines, r.seen.Nodes)
	switch {
	case !found:
		return nil
	case r.Restart == nil:
		return nodeActionRequired("the node "+m.Node+" was deleted, and its machine has not registered it again", "# on its machine: "+m.Command)
	}
	r.note("the node " + m.Node + " was deleted, and its machine has not registered it again")
	return r.restart(ctx, m)
}

// link has Rancher find the Nodes of all machines, where a stage gave Nodes their provider IDs.
// It looks for a Node that registered again by the ID of before.
func (r *run) link(ctx context.Context) error {
	if r.back() || !slices.Contains(r.todo, stages.SetProviderIDs) {
		return nil
	}
	sent := map[corev1.ObjectReference]bool{}
	return r.awaitSeen(ctx, func(seen *observed.Observation) (condition, error) {
		machines, err := r.Server.Rollout(ctx, r.Object)
		if err != nil {
			return condition{}, err
		}
		if l, found := transition.Relink(machines.Machines, seen.Nodes); found && !sent[l.Object] {
			sent[l.Object] = true
			return condition{waiting: l.Why}, r.relink(ctx, l)
		}
		first := transition.Unlinked(machines.Machines)
		return condition{done: first == "", waiting: "Rancher has not found the Node of the machine " + first + " yet"}, nil
	})
}

// relink gives the object of a machine's infrastructure the provider ID of its Node. Who may not
// write it sees what has to be done.
func (r *run) relink(ctx context.Context, l transition.Link) error {
	p, namespace := l.Patch(), r.Object.Namespace
	object := Ref{Server: local, Kind: l.Object.Kind, Namespace: namespace, Name: l.Object.Name}
	kind := strings.ToLower(object.Kind) + "s" // so are the plurals of all of Rancher's machines (rancher pkg/crds/names.go)
	err := r.write(ctx, actLink, object, p.Digest(), func(ctx context.Context) error {
		_, err := r.client(local).Do(ctx, kube.Request{
			What: "patch " + kind + " in " + namespace, Method: http.MethodPatch, Query: url.Values{"fieldManager": {kube.Program}},
			Path: kube.Path(l.Object.APIVersion, kind, namespace, object.Name), Body: p.Bytes(), ContentType: jsonpatch.ContentType,
		})
		return err
	})
	if kube.HasStatus(err, http.StatusForbidden, http.StatusNotFound) {
		return nodeActionRequired(l.Why, l.Command(namespace))
	}
	return kube.Refusal(err)
}

// nodeActionRequired says what a person does for one Node before the run can continue; the command is "" if it
// must not be done. The run sees by itself that it was done.
func nodeActionRequired(why, command string) error {
	if command == "" {
		return transform.NewError(transform.ExitRefused, why)
	}
	return transform.NewError(transform.ExitFailed, why+"; then run this command again:\n  "+command)
}

// initialize has the cloud-controller-manager initialize the Nodes without a provider ID
// whose names prove their instances, and waits until they have one.
func (r *run) initialize(ctx context.Context) error {
	seen, err := r.observer.Observe(ctx)
	if err != nil {
		return err
	}
	u := transition.Identify(seen.Nodes)
	for _, name := range u.Proven {
		if err := r.cordon.change(ctx, actTaint, name, transition.Uninitialize); err != nil {
			return err
		}
	}
	err = r.awaitSeen(ctx, func(seen *observed.Observation) (condition, error) {
		left := transition.Identify(seen.Nodes).Proven
		return condition{done: len(left) == 0, waiting: "the cloud-controller-manager has not set the provider ID of " + strings.Join(left, ", ") + ": check its log for the name of the Node"}, nil
	})
	if err != nil || len(u.Unproven) == 0 {
		return err
	}
	return nodeActionRequired("the name of the node "+u.Unproven[0]+" does not prove its instance, and a provider ID never changes: set it from the metadata of its own instance",
		aws.IdentifyManually(u.Unproven[0]))
}

// RestartCommand is a user's command that restarts the kubelet of a machine.
type RestartCommand string

// Restart runs it for a machine.
func (command RestartCommand) Restart(ctx context.Context, m transition.KubeletRestart) error {
	c := exec.CommandContext(ctx, "sh", "-c", string(command))
	c.Env = append(os.Environ(), "NODE="+m.Node, "ADDRESS="+m.Address, "COMMAND="+m.Command)
	printed, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("--restart-command for the node %s: %w%s", m.Node, err, lastLines(printed))
	}
	return nil
}

// lastLines is the end of what a command printed, redacted.
func lastLines(printed []byte) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	text := strings.Join(lines[max(0, len(lines)-most):], "; ")
	if text == "" {
		return ""
	}
	return ": " + redact.Text(text)
}
