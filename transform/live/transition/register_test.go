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
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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
