// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestPodsOfDaemonSetsAndStaticPodsStayOnADrainedNode(t *testing.T) {
	yes, now := true, metav1.Now()
	pod := func(name, controller string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if controller != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: controller, Name: name, Controller: &yes}}
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	e := Evict([]corev1.Pod{
		pod("web", "ReplicaSet", nil),
		pod("db", "StatefulSet", nil),
		pod("log", "DaemonSet", nil),
		pod("kube-proxy", "", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("ended", "", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("ends", "ReplicaSet", func(p *corev1.Pod) { p.DeletionTimestamp = &now }),
	})
	assert.True(t, slices.Equal(e.Evict, []string{"ns/db", "ns/web"}) && slices.Equal(e.Going, []string{"ns/ends"}) && e.Lost == "", e)
	if e := Evict([]corev1.Pod{pod("alone", "", nil)}); e.Lost != "ns/alone" {
		t.Errorf("%+v", e)
	}
}

func TestAMachineThatLooksForItsNodeByTheIDOfBeforeGetsTheNewOne(t *testing.T) {
	const (
		id    = "aws:///eu-west-1a/i-0a4c19d2e7b35f801"
		patch = `kubectl -n fleet-default patch CustomMachine.v1.rke.cattle.io/custom-4a1b --type=merge -p '{"spec":{"providerID":"` + id + `"}}'`
	)
	nodes := []observed.Node{aNode("ip-10-0-1-5", id, "10.0.1.5")}
	lost := rollout.Machine{Name: "m-1", Node: "ip-10-0-1-5", ProviderID: "rke2://ip-10-0-1-5", Unlinked: true,
		Infrastructure: corev1.ObjectReference{APIVersion: "rke.cattle.io/v1", Kind: "CustomMachine", Name: "custom-4a1b"}}
	for name, c := range map[string]struct {
		change func(*rollout.Machine)
		want   string
	}{
		"another ID":                {func(*rollout.Machine) {}, patch},
		"no ID yet":                 {func(m *rollout.Machine) { m.ProviderID, m.Node = "", "" }, ""},
		"the same ID":               {func(m *rollout.Machine) { m.ProviderID = id }, ""},
		"a Node that was not found": {func(m *rollout.Machine) { m.Node = "ip-10-0-1-6" }, ""},
		"a machine that is deleted": {func(m *rollout.Machine) { m.Deleting = true }, ""},
		"no one has noticed it yet": {func(m *rollout.Machine) { m.Unlinked = false }, patch},
	} {
		m := lost
		c.change(&m)
		link, found := Relink([]rollout.Machine{m}, nodes)
		assert.Truef(t, found == (c.want != "") && (!found || strings.HasSuffix(link.Command("fleet-default"), c.want)), "%s: %+v", name, link)
		want := map[bool]string{true: "m-1"}[m.Unlinked && !m.Deleting]
		got := Unlinked([]rollout.Machine{m})
		assert.Truef(t, got == want, "%s: the first machine without its Node is %q", name, got)
	}
	link, found := Relink([]rollout.Machine{lost}, []observed.Node{aNode("ip-10-0-1-5", "rke2://ip-10-0-1-5", "")})
	assert.Truef(t, !found, "the Node has no provider ID of AWS, and the machine gets one: %+v", link)
}

func TestThePatchOfAMachineFitsOnlyTheIDOfBefore(t *testing.T) {
	link := Link{Before: "rke2://a", After: "aws:///eu-west-1a/i-0a4c19d2e7b35f801"}
	p := link.Patch()
	assert.True(t, p.Applied([]byte(`{"spec":{"providerID":"aws:///eu-west-1a/i-0a4c19d2e7b35f801"}}`), nil) && !p.Applied([]byte(`{"spec":{"providerID":"rke2://b"}}`), nil), p.Bytes())
	assert.Truef(t, strings.Contains(string(p.Bytes()), `"test"`) && strings.Contains(string(p.Bytes()), "rke2://a"), "the patch does not test for the ID of before: %s", p.Bytes())
}

func parsed(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("object", text))(t)
}

func TestACordonIsUndone(t *testing.T) {
	for _, text := range []string{
		`{"metadata":{"name":"a","annotations":{"b":"c"}},"spec":{"providerID":"x"}}`,
		`{"metadata":{"name":"a"},"spec":{"providerID":"x"}}`,
		`{"metadata":{"name":"a","annotations":{"rke-lm.io/cordoned":"old"}},"spec":{"providerID":"x","unschedulable":false}}`,
	} {
		cordoned, err := Cordon(parsed(t, text), "run")
		assert.Mustf(t, err == nil && Marked(cordoned, "run") && (strings.Contains(string(cordoned.Bytes()), `"unschedulable":true`) || strings.Contains(string(cordoned.Bytes()), `"unschedulable": true`)), "%v %s", err, cordoned.Bytes())
		assert.Equal(t, assert.Value(Release(cordoned, "another"))(t), cordoned, "it is another run's")
		released, err := Release(cordoned, "run")
		assert.Truef(t, err == nil && !Marked(released, "run") && !strings.Contains(string(released.Bytes()), "unschedulable"), "%v %s", err, released.Bytes())
	}
}

func TestANodeThatIsCordonedStaysSomeoneElses(t *testing.T) {
	d := parsed(t, `{"metadata":{"name":"a"},"spec":{"unschedulable":true}}`)
	assert.Equal(t, assert.Value(Cordon(d, "run"))(t), d)
	assert.Equal(t, assert.Value(Release(d, "run"))(t), d)
}

func TestASnapshotIsTakenWhenItsOwnNumberIsFinished(t *testing.T) {
	for _, c := range []struct {
		number int64
		phase  string
		taken  bool
		failed bool
	}{{4, "Finished", false, false}, {5, "Started", false, false}, {5, "Finished", true, false}, {5, "Failed", false, true}} {
		taken, err := SnapshotTaken(rollout.Objects{ControlPlane: &rollout.ControlPlane{ControlPlaneStatus: rollout.ControlPlaneStatus{SnapshotPhase: c.phase, Snapshot: struct{ Generation int64 }{c.number}}}}, 5)
		assert.Truef(t, taken == c.taken && (err != nil) == c.failed, "%+v: %t %v", c, taken, err)
	}
}

const (
	etcdLabel    = "node-role.kubernetes.io/etcd"
	controlLabel = "node-role.kubernetes.io/control-plane"
)

func aNode(name, id, address string, labels ...string) observed.Node {
	n := observed.Node{Name: name, ProviderID: id, Address: address, Labels: map[string]string{}, Ready: &observed.Condition{Status: "True"}}
	for _, l := range labels {
		n.Labels[l] = "true"
	}
	return n
}

func TestNodesAreSortedByWhatGivesThemAProviderID(t *testing.T) {
	for name, proves := range map[string]bool{
		"ip-10-0-1-5.eu-west-1.compute.internal":         true,
		"ip-10-0-1-5":                                    true,
		"ip-10-0-1-6.eu-west-1.compute.internal":         false, // of another instance
		"ip-10-0-1-55":                                   false,
		"i-0a4c19d2e7b35f801.eu-west-1.compute.internal": true,
		"i-node":                 false,
		"heron-pool1-6c9f8d7b5x": false,
	} {
		u := Identify([]observed.Node{aNode(name, "", "10.0.1.5")})
		got := slices.Contains(u.Proven, name)
		assert.Truef(t, got == proves && len(u.Proven)+len(u.Unproven) == 1, "%s: %+v", name, u)
	}
	u := Identify([]observed.Node{
		aNode("member", "rke2://member", "", etcdLabel, controlLabel), aNode("control", "rke2://control", "", controlLabel), aNode("worker", "rke2://worker", ""), aNode("done", "aws:///eu-west-1a/i-0a4c19d2e7b35f801", ""),
	})
	order := lists.Map(u.Foreign, func(n observed.Node) string { return n.Name })
	got := strings.Join(order, " ")
	assert.True(t, got == "worker control member" && !Identified([]observed.Node{u.Foreign[0]}) && Identified([]observed.Node{aNode("done", "aws:///eu-west-1a/i-0a4c19d2e7b35f801", "")}), got)
}

// A Node that is deleted takes its etcd member with it, so members are replaced, and only
// while the others are a majority.
func TestRegistrationKeepsTheQuorum(t *testing.T) {
	p := Planner{Format: transform.Format{Live: transform.Live{Restart: transform.RestartKubelet}}}
	down := aNode("c", "", "", etcdLabel, controlLabel)
	down.Ready = nil
	member := aNode("a", "rke2://a", "", etcdLabel, controlLabel)
	other := aNode("b", "aws:///z/i-0a4c19d2e7b35f801", "", etcdLabel, controlLabel)
	up := aNode("c", "aws:///z/i-0a4c19d2e7b35f802", "", etcdLabel, controlLabel)
	plane := aNode("p", "rke2://p", "", controlLabel)
	for name, c := range map[string]struct {
		nodes   []observed.Node
		first   observed.Node
		command string // part of it; "" where it is refused
		why     string
	}{
		"a worker":                           {nil, aNode("w", "rke2://w", ""), "kubectl delete node w", "register it again"},
		"one of two control planes":          {[]observed.Node{plane, other}, plane, "kubectl delete node p", "one control plane at a time"},
		"the only control plane":             {[]observed.Node{plane}, plane, "", "the only control plane"},
		"a member of three":                  {[]observed.Node{member, other, up}, member, "delete its machine", "RKE2 removes the member"},
		"a member of three, one not ready":   {[]observed.Node{member, other, down}, member, "", "1 of the others are ready"},
		"the only member":                    {[]observed.Node{member}, member, "", "one of 1 etcd members"},
		"a member whose name is like a flag": {[]observed.Node{aNode("-a", "rke2://a", "", etcdLabel), other, up}, aNode("-a", "rke2://a", "", etcdLabel), "drain", "replace its machine"},
	} {
		again := p.Registration(c.nodes, c.first)
		command, why := again.Command, again.Why
		assert.Truef(t, (again.Restart != "") == strings.Contains(command, "delete node"), "%s: the machine runs %q with %q", name, again.Restart, command)
		assert.Truef(t, (command == "") == (c.command == "") && strings.Contains(command, c.command) && strings.Contains(why, c.why), "%s: %q, %q", name, command, why)
		assert.Truef(t, !c.first.Etcd() || !strings.Contains(command, "delete node"), "%s: the command removes an etcd member: %s", name, command)
	}
}

func TestTheTaintIsAddedOnceAndOnlyWithoutAProviderID(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"no taints":        {`{"podCIDR":"10.42.0.0/24"}`, `"uninitialized"`},
		"other taints":     {`{"taints":[{"key":"a","effect":"NoSchedule"}]}`, `"uninitialized"`},
		"it has it":        {`{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","effect":"NoSchedule"}]}`, ""},
		"it has an ID":     {`{"providerID":"aws:///z/i-0a4c19d2e7b35f801"}`, ""},
		"it is foreign":    {`{"providerID":"rke2://w"}`, ""},
		"there is no spec": {"", `"uninitialized"`},
	} {
		text := `{"metadata":{"name":"w"}}`
		if c.spec != "" {
			text = `{"metadata":{"name":"w"},"spec":` + c.spec + `}`
		}
		before := assert.Value(yamledit.ParseString("node", text))(t)
		after, err := Uninitialize(before)
		assert.Must(t, err == nil, name, err)
		changed := string(after.Bytes()) != text
		assert.Truef(t, changed == (c.want != ""), "%s: %s", name, after.Bytes())
		again, err := Uninitialize(after)
		assert.Truef(t, err == nil && string(again.Bytes()) == string(after.Bytes()), "%s: a second time: %s, %v", name, again.Bytes(), err)
	}
}
