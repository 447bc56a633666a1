// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheObjectsOfRancherAreRead(t *testing.T) {
	c, err := ReadControlPlane([]byte(`{"metadata":{"namespace":"ns","name":"a","generation":7},"spec":{"k":"v"},
 "status":{"observedGeneration":6,"appliedSpec":{"k":"w"},"conditions":[{"type":"Ready","status":"False","message":"m"}],"etcdSnapshotCreate":{"generation":3},"etcdSnapshotCreatePhase":"Started"}}`))
	want := &ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Generation: 7}, Spec: map[string]any{"k": "v"},
		ControlPlaneStatus: ControlPlaneStatus{Observed: 6, Applied: map[string]any{"k": "w"}, Conditions: Conditions{"Ready": {Type: "Ready", Status: "False", Message: "m"}}, SnapshotPhase: "Started"},
	}
	want.Snapshot.Generation = 3
	assert.NilError(t, err)
	assert.DeepEqual(t, c, want)
	m, err := ReadMachine([]byte(`{"metadata":{"name":"m","labels":{"a":"b"},"deletionTimestamp":"2025-01-01T00:00:00Z"},"spec":{"bootstrap":{"configRef":{"kind":"RKEBootstrap","name":"m-boot"}}},"status":{"nodeRef":{"name":"n"}}}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, m, Machine{Name: "m", Labels: map[string]string{"a": "b"}, Node: "n", Deleting: true, PlanSecret: "m-boot-machine-plan"})
	for text, unlinked := range map[string]bool{
		`"nodeRef":{"name":"n"}`: false,
		`"nodeRef":{"name":"n"},"conditions":[{"type":"NodeHealthy","status":"False","reason":"NodeNotFound"}]`:         true,
		`"nodeRef":{"name":"n"},"conditions":[{"type":"NodeHealthy","status":"False","reason":"NodeConditionsFailed"}]`: false,
		`"phase":"Provisioning"`: true,
	} {
		m, err := ReadMachine([]byte(`{"metadata":{"name":"m"},"spec":{"providerID":"rke2://n","infrastructureRef":{"apiVersion":"rke.cattle.io/v1","kind":"CustomMachine","name":"c"}},"status":{` + text + `}}`))
		assert.Truef(t, err == nil && m.Unlinked == unlinked && m.ProviderID == "rke2://n" && m.Infrastructure == (corev1.ObjectReference{APIVersion: "rke.cattle.io/v1", Kind: "CustomMachine", Name: "c"}), "%s: %+v %v", text, m, err)
	}
	e, err := ReadEngine([]byte(`{"spec":{"rancherKubernetesEngineConfig":{"a":1}},"status":{"appliedSpec":{"rancherKubernetesEngineConfig":{"a":2}},"failedSpec":null}}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, e, &Engine{Spec: map[string]any{"a": 1.0}, Applied: map[string]any{"a": 2.0}})
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
		assert.Truef(t, err == nil && m.PlanSecret == c.want, "%s %s: %q, not %q (%v)", c.kind, c.name, m.PlanSecret, c.want, err)
	}
}

func TestAnObjectThatCannotBeReadIsNotQuoted(t *testing.T) {
	_, err := ReadControlPlane([]byte(`{"spec":"password=hunter2"}`))
	assert.True(t, err != nil && !strings.Contains(err.Error(), "hunter2"), err)
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
		{"failed once, as Rancher writes it for Linux", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("1"), "max-failures": []byte("-1"), "failure-threshold": []byte("1")}, &Plan{Failures: 1, Config: proven}},
		{"failed, and tried forever", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("30"), "max-failures": []byte("-1"), "failure-threshold": []byte("1")}, &Plan{Failures: 30, Config: proven}},
		{"failed, and nothing says how often", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("4")}, &Plan{Failures: 4, Config: proven}},
		{"a snapshot that may be tried again", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("2"), "max-failures": []byte("3"), "failure-threshold": []byte("3")}, &Plan{Failures: 2, Config: proven}},
		{"a snapshot that failed", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("3"), "max-failures": []byte("3"), "failure-threshold": []byte("3")}, &Plan{Failures: 3, GivenUp: true, Config: proven}},
		{"the restart after a snapshot, which Rancher never calls failed", map[string][]byte{"plan": text, "failed-checksum": failed, "failure-count": []byte("1"), "max-failures": []byte("1"), "failure-threshold": []byte("-1")}, &Plan{Failures: 1, GivenUp: true, Config: proven}},
		{"another plan failed", map[string][]byte{"plan": text, "failed-checksum": []byte("x"), "failure-count": []byte("9")}, &Plan{Config: proven}},
		{"probes", map[string][]byte{"plan": text, "probe-statuses": []byte(`{"b":{"healthy":false},"a":{},"c":{"healthy":true}}`)}, &Plan{Unhealthy: []string{"a", "b"}, Config: proven}},
		{"a configuration that is not base64", map[string][]byte{"plan": []byte(`{"files":[{"path":"/50-rancher.yaml","content":"!"}]}`)}, &Plan{}},
		{"no plan of Rancher's", map[string][]byte{"plan": []byte("x")}, &Plan{}},
	} {
		assert.DeepEqual(t, ReadPlan(c.data), c.want, c.name)
	}
}

// agentOutput is what an agent writes of the outputs of instructions (system-agent
// pkg/applyinator).
func agentOutput(t *testing.T, outputs map[string][]byte) []byte {
	t.Helper()
	text := assert.Value(json.Marshal(outputs))(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	assert.NilError(t, err)
	assert.NilError(t, z.Close())
	return b.Bytes()
}

func TestTheOutputOfAFailedTryIsReadToItsEndAndRedacted(t *testing.T) {
	text := []byte(`{"files":[]}`)
	sum := sha256.Sum256(text)
	plan := func(output []byte) *Plan {
		return ReadPlan(map[string][]byte{"plan": text, "failed-checksum": []byte(hex.EncodeToString(sum[:])), "failure-count": []byte("1"), "max-failures": []byte("-1"), "failed-output": output})
	}
	assert.Equal(t, plan(agentOutput(t, map[string][]byte{"install": []byte("pulling\n\nno space left on device\n"), "create": []byte("ok")})).Output, "create: ok\ninstall: pulling\ninstall: no space left on device")
	long := plan(agentOutput(t, map[string][]byte{"a": []byte(strings.Repeat(strings.Repeat("ä", 900)+"\n", 40) + "the end")})).Output
	n := len([]rune(long))
	assert.Truef(t, n <= 2000 && strings.HasSuffix(long, "a: the end"), "%d runes: %q", n, long)
	for _, secret := range []string{
		"K10d4f1c7be0a5d9e3c2b1a0f9e8d7c6b5a4938271605f4e3d2c1b0a9f8e7d6c5b4::server:7c1f9a3e5d2b4c6a8e0f1d3b5a7c9e2f",
		"registry password: Sommer-im-Hafen-2021",
		"--token=8f14e45fceea167a5a36dedd4bea2543",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzz19EXAMPLEK",
		"-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAx3Jq9vYk2tW8\n", 12) + "-----END RSA PRIVATE KEY-----",
	} {
		shown := plan(agentOutput(t, map[string][]byte{"install": []byte("starting\n" + secret + "\nfailed")})).Output
		last := secret[strings.LastIndexAny(secret, ":= ")+1:]
		assert.True(t, !strings.Contains(shown, last) && !strings.Contains(shown, "MIIEow") && strings.Contains(shown, "failed"), shown)
	}
	for name, output := range map[string][]byte{"none": nil, "empty": agentOutput(t, map[string][]byte{}), "no gzip": []byte("x"), "cut": agentOutput(t, map[string][]byte{"a": []byte("b")})[:20], "a bomb": agentOutput(t, map[string][]byte{"a": bytes.Repeat([]byte("b"), 2<<20)})} {
		assert.Equal(t, plan(output).Output, "", name)
	}
}
