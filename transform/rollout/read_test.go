// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheObjectsOfRancherAreRead(t *testing.T) {
	c, err := ReadControlPlane([]byte(`{"metadata":{"namespace":"ns","name":"a","generation":7},"spec":{"k":"v"},
 "status":{"observedGeneration":6,"appliedSpec":{"k":"w"},"conditions":[{"type":"Ready","status":"False","message":"m"}],"etcdSnapshotCreate":{"generation":3},"etcdSnapshotCreatePhase":"Started"}}`))
	want := &ControlPlane{
		Namespace: "ns", Name: "a", Generation: 7, Observed: 6, Spec: map[string]any{"k": "v"}, Applied: map[string]any{"k": "w"},
		Conditions: map[string]Condition{"Ready": {Status: "False", Message: "m"}}, SnapshotGeneration: 3, SnapshotPhase: "Started",
	}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	m, err := ReadMachine([]byte(`{"metadata":{"name":"m","labels":{"a":"b"},"deletionTimestamp":"2025-01-01T00:00:00Z"},"spec":{"bootstrap":{"configRef":{"kind":"RKEBootstrap","name":"m-boot"}}},"status":{"nodeRef":{"name":"n"}}}`))
	if diff := cmp.Diff(Machine{Name: "m", Labels: map[string]string{"a": "b"}, Node: "n", Deleting: true, PlanSecret: "m-boot-machine-plan"}, m); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	e, err := ReadEngine([]byte(`{"spec":{"rancherKubernetesEngineConfig":{"a":1}},"status":{"appliedSpec":{"rancherKubernetesEngineConfig":{"a":2}},"failedSpec":null}}`))
	if diff := cmp.Diff(&Engine{Spec: map[string]any{"a": 1.0}, Applied: map[string]any{"a": 2.0}, Conditions: map[string]Condition{}}, e); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// Rancher names the Secret after the RKEBootstrap, and cuts what is too long for a label.
func TestThePlansSecretIsNamedAsRancherNamesIt(t *testing.T) {
	for _, c := range []struct{ kind, name, want string }{
		{"RKEBootstrap", "harbour-servers-7f9c4-x2lqk", "harbour-servers-7f9c4-x2lqk-machine-plan"},
		{"RKEBootstrap", "custom-4a1b2c3d4e5f", "custom-4a1b2c3d4e5f-machine-plan"},
		{"RKEBootstrap", "a-long-name-of-a-cluster-in-the-north-servers-7f9c4d8b6-x2lqk", "a-long-name-of-a-cluster-in-the-north-servers-7f9c4d8b6-x-df88e"},
		{"RKEBootstrap", "", ""},
		{"KubeadmConfig", "harbour-0", ""},
	} {
		m, err := ReadMachine([]byte(`{"metadata":{"name":"m"},"spec":{"bootstrap":{"configRef":{"kind":"` + c.kind + `","name":"` + c.name + `"}}}}`))
		if err != nil || m.PlanSecret != c.want {
			t.Errorf("%s %s: %q, not %q (%v)", c.kind, c.name, m.PlanSecret, c.want, err)
		}
	}
}

func TestAnObjectThatCannotBeReadIsNotQuoted(t *testing.T) {
	_, err := ReadControlPlane([]byte(`{"spec":"password=hunter2"}`))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestAMachinesPlanIsRead(t *testing.T) {
	config := base64.StdEncoding.EncodeToString([]byte(`{"cloud-provider-name":"external"}`))
	text := []byte(`{"files":[{"path":"/x/y","content":"!"},{"path":"/etc/rancher/rke2/config.yaml.d/50-rancher.yaml","content":"` + config + `"}]}`)
	sum := sha256.Sum256(text)
	failed := []byte(hex.EncodeToString(sum[:]))
	proven := map[string]any{"cloud-provider-name": "external"}
	for _, c := range []struct {
		name string
		data map[string][]byte
		want *Plan
	}{
		{"none", map[string][]byte{"plan": {}}, nil},
		{"applied", map[string][]byte{"plan": text, "appliedPlan": text}, &Plan{Applied: true, Config: proven}},
		{"not yet", map[string][]byte{"plan": text, "appliedPlan": []byte("{}")}, &Plan{Config: proven}},
		{"failed, and no try is left", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("1")}, &Plan{Failures: 1, GivenUp: true, Config: proven}},
		{"failed, and tried again", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("3"), "failure-threshold": []byte("5")}, &Plan{Failures: 3, Config: proven}},
		{"failed, and tried for ever", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("30"), "failure-threshold": []byte("-1")}, &Plan{Failures: 30, Config: proven}},
		{"another plan failed", map[string][]byte{"plan": text, "failed-checksum": []byte("x"), "failure-count": []byte("9")}, &Plan{Config: proven}},
		{"probes", map[string][]byte{"plan": text, "probe-statuses": []byte(`{"b":{"healthy":false},"a":{},"c":{"healthy":true}}`)}, &Plan{Unhealthy: []string{"a", "b"}, Config: proven}},
		{"a configuration that is no base64", map[string][]byte{"plan": []byte(`{"files":[{"path":"/50-rancher.yaml","content":"!"}]}`)}, &Plan{}},
		{"no plan of Rancher's", map[string][]byte{"plan": []byte("x")}, &Plan{}},
	} {
		if diff := cmp.Diff(c.want, ReadPlan(c.data)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
