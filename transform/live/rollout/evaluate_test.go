// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// scene is a cluster of one machine that runs what its object says.
func scene() (Objects, Wanted) {
	config := func() map[string]any {
		return map[string]any{
			"machineGlobalConfig": map[string]any{"cloud-provider-name": "external"}, "additionalManifest": "a: b\n",
		}
	}
	spec := func() map[string]any {
		s := config()
		s["kubernetesVersion"] = "v1.26.15+rke2r1"
		return s
	}
	yes := Condition{Status: "True"}
	seen := Objects{
		ControlPlane: &ControlPlane{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: spec(), ControlPlaneStatus: ControlPlaneStatus{Observed: 4, Applied: spec(), Conditions: Conditions{"Ready": yes, "Reconciled": yes}}},
		Machines: []Machine{{Name: "m-1", Node: "n-1", Labels: map[string]string{"pool": "servers"}, Plan: &Plan{Applied: true, Config: map[string]any{
			"cloud-provider-name": "external", "disable-cloud-controller": true, "kube-controller-manager-arg": []any{"v=2", "cert-dir=/x", "secure-port=10257"},
		}}}},
	}
	wanted := Wanted{
		Object: map[string]any{"spec": map[string]any{"kubernetesVersion": "v1.26.15+rke2r1", "rkeConfig": config()}},
		Machine: func(l map[string]string) map[string]any {
			if l["pool"] != "servers" {
				return map[string]any{"cloud-provider-name": "aws"}
			}
			return map[string]any{"cloud-provider-name": "external", "disable-cloud-controller": true, "kube-controller-manager-arg": []any{"v=2"}}
		},
		Nodes: map[string]string{"m-1": "n-1"},
		Alike: rke2.Format().Alike,
	}
	return seen, wanted
}

// waitsForNode makes the machine one whose Node has no provider ID: Rancher never calls its specification applied.
func waitsForNode(s *Objects) {
	s.Machines[0].Node, s.Machines[0].Unlinked = "", true
	s.ControlPlane.Applied["additionalManifest"] = "old"
	waiting := Condition{Status: "Unknown", Message: "non-ready worker machine(s) m-1: waiting for node ref"}
	s.ControlPlane.Conditions["Ready"], s.ControlPlane.Conditions["Reconciled"] = waiting, waiting
}

func TestAChangeIsDoneWhenEveryMachineProvesIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Objects, *Wanted)
		want   string // what is waited for; "" for nothing
	}{
		{"as it should be", func(*Objects, *Wanted) {}, ""},
		{"no control plane yet", func(s *Objects, _ *Wanted) { s.ControlPlane = nil }, "Rancher has not created the RKEControlPlane yet"},
		{"a manifest that is not copied", func(s *Objects, _ *Wanted) { s.ControlPlane.Spec["additionalManifest"] = "a: c\n" }, "has not copied the change"},
		{"a release that is not copied", func(s *Objects, _ *Wanted) { s.ControlPlane.Spec["kubernetesVersion"] = "v1.27.1+rke2r1" }, "has not copied the change"},
		{"a generation that no controller observed", func(s *Objects, _ *Wanted) { s.ControlPlane.Generation = 5 }, "Rancher has not observed the last change of the RKEControlPlane yet"},
		{"a specification that is not applied", func(s *Objects, _ *Wanted) { s.ControlPlane.Applied["additionalManifest"] = "old" }, "has not applied the whole change"},
		{"a condition", func(s *Objects, _ *Wanted) {
			s.ControlPlane.Conditions["Ready"] = Condition{Status: "Unknown", Message: "waiting, password=hunter2"}
		}, "the condition Ready is not True: waiting, password=<redacted>"},
		{"no machines", func(s *Objects, _ *Wanted) { s.Machines = nil }, "shows no machine"},
		{"a machine without a plan", func(s *Objects, _ *Wanted) { s.Machines[0].Plan = nil }, "Rancher has not given it a plan yet"},
		{"a plan without a configuration", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Config = nil }, "it holds no configuration"},
		{"a plan from before the change", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Config["cloud-provider-name"] = "aws" }, "does not have the change yet: cloud-provider-name"},
		{"a plan that keeps the flag", func(s *Objects, _ *Wanted) {
			s.Machines[0].Plan.Config["kube-controller-manager-arg"] = []any{"v=2", "enable-leader-migration"}
		}, "kube-controller-manager-arg enable-leader-migration"},
		{"a plan that lost an argument", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Config["kube-controller-manager-arg"] = []any{"v=3"} }, "kube-controller-manager-arg v"},
		{"a plan that keeps the provider's configuration", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Config["cloud-provider-config"] = "/a/file" }, "cloud-provider-config"},
		{"a machine that does not run its plan", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Applied = false }, "it has not applied its plan yet"},
		{"one that tried", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Applied, s.Machines[0].Plan.Failures = false, 2 }, "2 attempts of its plan failed, and its rancher-system-agent retries"},
		{"one whose probes fail", func(s *Objects, _ *Wanted) { s.Machines[0].Plan.Unhealthy = []string{"kubelet"} }, "these probes fail: kubelet"},
		{"one without a node", func(s *Objects, _ *Wanted) { s.Machines[0].Node = "" }, "it has no Node yet"},
		{"one whose own labels ask for something else", func(s *Objects, _ *Wanted) { s.Machines[0].Labels = nil }, "does not have the change yet: cloud-provider-name"},
		{"one that is deleted does not count", func(s *Objects, _ *Wanted) {
			s.Machines = append(s.Machines, Machine{Name: "m-2", Deleting: true})
		}, ""},
		{"a node without a provider ID, in a cluster without cloud controllers", func(s *Objects, w *Wanted) {
			waitsForNode(s)
			w.WithoutIDs = true
		}, ""},
		{"the same where cloud controllers run", func(s *Objects, _ *Wanted) { waitsForNode(s) }, "it has no Node yet"},
		{"a node that Cluster API does not find, and a plan that is not applied", func(s *Objects, w *Wanted) {
			waitsForNode(s)
			w.WithoutIDs, s.Machines[0].Plan.Applied = true, false
		}, "it has not applied its plan yet"},
		{"a node without a provider ID, and Rancher waits for something else", func(s *Objects, w *Wanted) {
			waitsForNode(s)
			w.WithoutIDs, s.ControlPlane.Conditions["Ready"] = true, Condition{Status: "Unknown", Message: "configuring worker node(s) m-1"}
		}, "has not applied the whole change"},
		{"another machine that is not ready", func(s *Objects, w *Wanted) {
			waitsForNode(s)
			w.WithoutIDs, s.ControlPlane.Conditions["Ready"] = true, Condition{Status: "Unknown", Message: "non-ready worker machine(s) m-2: failed"}
		}, "has not applied the whole change"},
		{"what is empty is absent", func(s *Objects, _ *Wanted) {
			s.ControlPlane.Spec["machineSelectorConfig"], s.ControlPlane.Applied["chartValues"] = []any{}, map[string]any{}
		}, ""},
	} {
		seen, wanted := scene()
		c.change(&seen, &wanted)
		p := Evaluate(seen, wanted)
		assert.True(t, strings.Contains(p.Waiting, c.want) && p.Done == (c.want == "") && (c.want != "" || p.Waiting == "") && p.Failed == "", c.name, p)
	}
}

func TestWhatDoesNotPassIsReported(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Machine)
		want   string
	}{
		{"a node under another name", func(m *Machine) { m.Node = "n-2" }, "machine m-1 was the node n-1 and is now the node n-2"},
		{"a plan that was given up", func(m *Machine) { m.Plan.Applied, m.Plan.GivenUp, m.Plan.Failures = false, true, 5 }, "machine m-1 stopped applying its plan after 5 attempts"},
		{"with what it printed", func(m *Machine) {
			m.Plan.Applied, m.Plan.GivenUp, m.Plan.Failures, m.Plan.Output = false, true, 1, "create: no space left\ncreate: exit 1"
		}, "after 1 attempt, and does not retry until Rancher changes the plan; journalctl -u rancher-system-agent on the machine shows the cause; it printed:\n    create: no space left\n    create: exit 1"},
	} {
		seen, wanted := scene()
		c.change(&seen.Machines[0])
		p := Evaluate(seen, wanted)
		assert.Truef(t, strings.Contains(p.Failed, c.want) && !p.Done, "%s: %+v", c.name, p)
	}
}

// Who goes back from a plan that was given up waits for the next one.
func TestAPlanThatWasGivenUpBeforeTheChangeIsNotTheEnd(t *testing.T) {
	seen, wanted := scene()
	plan := seen.Machines[0].Plan
	plan.Applied, plan.GivenUp, plan.Failures, plan.Config["cloud-provider-name"] = false, true, 3, "aws"
	p := Evaluate(seen, wanted)
	assert.True(t, p.Failed == "" && strings.Contains(p.Waiting, "does not have the change yet: cloud-provider-name") && !p.Done, p)
}

func TestAMachineWhosePlanFailsShowsWhatItPrintedUntilATryPasses(t *testing.T) {
	seen, wanted := scene()
	plan := seen.Machines[0].Plan
	plan.Applied, plan.Failures, plan.Output = false, 1, "install: no route to host"
	p := Evaluate(seen, wanted)
	m := p.Machines[0]
	assert.Truef(t, p.Failed == "" && m.Failures == 1 && strings.Contains(m.Failure(), "machine m-1: 1 attempt of its plan failed; ") && strings.HasSuffix(m.Failure(), "it printed:\n    install: no route to host"), "%+v %q", p, m.Failure())
	plan.Applied = true
	p = Evaluate(seen, wanted)
	assert.True(t, p.Done && p.Machines[0].Failure() == "", p)
}

func TestAnObjectThatSomeoneElseChangedIsOvertaken(t *testing.T) {
	_, wanted := scene()
	_, other := scene()
	assert.True(t, !Overtaken(other.Object, wanted), "the same object")
	config := other.Object["spec"].(map[string]any)["rkeConfig"].(map[string]any)
	config["machinePools"] = []any{map[string]any{"quantity": 5.0}}
	assert.True(t, !Overtaken(other.Object, wanted), "a pool that grew is not ours")
	config["additionalManifest"] = "c: d\n"
	assert.True(t, Overtaken(other.Object, wanted), "another manifest")
}

func engine(provider string) map[string]any {
	return map[string]any{"kubernetesVersion": "v1", "cloudProvider": map[string]any{"name": provider}, "services": map[string]any{
		"kubeController": map[string]any{"extraArgs": map[string]any{"v": "2"}}, "kubelet": map[string]any{"extraEnv": []any{"A=b"}},
	}}
}

func TestRKEIsDoneWhenItAppliedTheConfiguration(t *testing.T) {
	yes := map[string]Condition{"Updated": {Status: "True"}, "Provisioned": {Status: "True"}, "Ready": {Status: "True"}}
	filled := engine("external-aws")
	filled["nodes"], filled["services"].(map[string]any)["kubelet"] = []any{"n"}, map[string]any{}
	object := map[string]any{"spec": map[string]any{"rancherKubernetesEngineConfig": engine("external-aws")}}
	for _, c := range []struct {
		name string
		e    Engine
		want string
	}{
		{"done, with what Rancher adds and moves", Engine{Applied: filled, Conditions: yes}, ""},
		{"conditions of the change before", Engine{Applied: engine("aws"), Conditions: yes}, "RKE has not applied the change yet"},
		{"applied, and not ready", Engine{Applied: filled, Conditions: map[string]Condition{"Updated": {Status: "True"}, "Provisioned": {Status: "True"}}}, "the condition Ready is not True"},
		{"failed", Engine{Applied: engine("aws"), Failed: filled, Conditions: map[string]Condition{"Updated": {Status: "False", Message: "no ssh"}}}, "the last attempt of RKE failed, and Rancher retries: no ssh"},
	} {
		p := Evaluate(Objects{Engine: &c.e}, Wanted{Object: object, Alike: rke1.Format().Alike})
		assert.Truef(t, strings.Contains(p.Waiting, c.want) && p.Done == (c.want == ""), "%s: %+v", c.name, p)
	}
	assert.True(t, Overtaken(map[string]any{"spec": map[string]any{"rancherKubernetesEngineConfig": engine("aws")}}, Wanted{Object: object, Alike: rke1.Format().Alike}), "a provider that was changed back")
}

func TestWhatRancherWritesByItselfOvertakesNothing(t *testing.T) {
	rke := func(services, provider map[string]any) map[string]any {
		return map[string]any{"spec": map[string]any{"rancherKubernetesEngineConfig": map[string]any{"services": services, "cloudProvider": provider}}}
	}
	apiServer := func(psact string, flags ...any) map[string]any {
		return map[string]any{"spec": map[string]any{psactKey: psact, "rkeConfig": map[string]any{"machineGlobalConfig": map[string]any{"kube-apiserver-arg": flags}}}}
	}
	external := map[string]any{"name": "external-aws"}
	for _, c := range []struct {
		name      string
		format    transform.Format
		was, is   map[string]any
		overtaken bool
	}{
		{"an empty service", rke1.Format(), rke(map[string]any{}, external), rke(map[string]any{"kubeController": map[string]any{"extraArgs": nil}}, external), false},
		{"a block that makes the provider aws again", rke1.Format(), rke(nil, external), rke(nil, map[string]any{"name": "external-aws", "awsCloudProvider": map[string]any{}}), true},
		{"the order of the webhook", rke2.Format(), apiServer("restricted", "v=2", "a=b"), apiServer("restricted", "a=b", "v=2"), false},
		{"another argument", rke2.Format(), apiServer("restricted", "v=2", "a=b"), apiServer("restricted", "a=b", "v=3"), true},
		{"another order without a webhook that writes it", rke2.Format(), apiServer("", "v=2", "a=b"), apiServer("", "a=b", "v=2"), true},
	} {
		assert.Equal(t, Overtaken(c.is, Wanted{Object: c.was, Alike: c.format.Alike}), c.overtaken, c.name)
	}
}

const (
	wantedPools  = "    machinePools:\n    - {name: servers, controlPlaneRole: true, etcdRole: true}\n"
	wantedObject = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"mill","namespace":"fleet-default"},"spec":{}}`
	wantedText   = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: mill, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig: {cloud-provider-name: external}
    machineSelectorConfig:
    - config: {kubelet-arg: [v=4]}
      machineLabelSelector: {matchExpressions: [{key: rack, operator: Exists}]}
    - config: {cloud-provider-name: aws}
      machineLabelSelector: {matchExpressions: [{key: cattle.io/os, operator: NotIn, values: [linux]}]}
`
)

// Rancher's planner looks at the labels of the Machine, regardless of who set them, and knows no
// classes.
func TestAMachineWithLabelsThatNoPoolHasIsEvaluatedByThem(t *testing.T) {
	roles := func(own ...string) map[string]string {
		labels := map[string]string{"rke.cattle.io/rke-machine-pool-name": "servers", "rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true", "cattle.io/os": "linux"}
		for i := 0; i < len(own); i += 2 {
			labels[own[i]] = own[i+1]
		}
		return labels
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		config map[string]any // that the plan has
		lacks  string         // of it; "" for nothing
	}{
		{"those of its pool", roles(), map[string]any{"cloud-provider-name": "external"}, ""},
		{"of a pool that is gone", roles("rke.cattle.io/rke-machine-pool-name", "before"), map[string]any{"cloud-provider-name": "external"}, ""},
		{"of a pool that is gone, before the change", roles("rke.cattle.io/rke-machine-pool-name", "before"), map[string]any{"cloud-provider-name": "aws"}, "cloud-provider-name"},
		{"one that someone added", roles("rack", "b7"), map[string]any{"cloud-provider-name": "external", "kubelet-arg": []any{"v=4"}}, ""},
		{"one that someone added, before the planner saw it", roles("rack", "b7"), map[string]any{"cloud-provider-name": "external"}, "kubelet-arg v"},
		{"another system", roles("cattle.io/os", "windows"), map[string]any{"cloud-provider-name": "aws"}, ""},
		{"another system, after a change for others", roles("cattle.io/os", "windows"), map[string]any{"cloud-provider-name": "external"}, "cloud-provider-name"},
		{"none", nil, map[string]any{"cloud-provider-name": "aws"}, ""},
	} {
		for kind, text := range map[string]string{"pools": wantedText + wantedPools, "custom": wantedText} {
			doc := assert.Value(yamledit.ParseString("mill", text))(t)
			wanted := assert.Value(NewWanted(rke2.Format(), doc, []byte(wantedObject), transform.Target{}))(t)
			m := Machine{Name: "m", Node: "n", Labels: c.labels, Plan: &Plan{Applied: true, Config: c.config}}
			got := m.waiting(wanted)
			assert.Truef(t, (c.lacks != "" || got == "") && strings.HasSuffix(got, c.lacks), "%s, %s: %q", c.name, kind, got)
		}
	}
}
