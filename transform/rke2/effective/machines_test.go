// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A pair is a cluster and what Rancher's own planner made of each class.
func TestEffectiveConfigurationEqualsRanchersPlanner(t *testing.T) {
	folder := os.Getenv("RKE_LM_PLANNER")
	if folder == "" {
		t.Skip("RKE_LM_PLANNER does not name a folder of pairs")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip(err)
	}
	pairs, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	assert.Mustf(t, err == nil && len(pairs) != 0, "no pairs in %s: %v", folder, err)
	for _, file := range pairs {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) { comparePair(t, file) })
	}
}

func comparePair(t *testing.T, file string) {
	doc := assert.Value(yamledit.ParseString(file, string(readFile(t, file))))(t)
	planned := readFile(t, strings.TrimSuffix(file, ".yaml")+".json")
	c, err := rke2.Open(doc, transform.Target{})
	if refused := strings.HasPrefix(string(planned), "{"); refused {
		assert.Truef(t, err != nil, "opened, though the planner says %s", planned)
		return
	}
	assert.NilError(t, err)
	var got []map[string]any
	for _, class := range c.Classes {
		if strings.Contains(class.Name, "=") {
			continue // the planner was called for roles alone
		}
		got = append(got, map[string]any{"class": class.Name, "labels": class.Labels, "user": c.Effective(class).Values()})
	}
	assert.DeepEqual(t, throughJSON(t, got), throughJSON(t, json.RawMessage(planned)), "(-planner +rke2)")
	var machines []struct {
		Labels map[string]string `json:"labels"`
		User   any               `json:"user"`
	}
	assert.NilError(t, json.Unmarshal(planned, &machines))
	for _, m := range machines {
		assert.DeepEqual(t, throughJSON(t, given(t, string(doc.Bytes()), m.Labels)), m.User, "-planner +rke2", m.Labels)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	return assert.Value(os.ReadFile(file))(t)
}

func throughJSON(t *testing.T, v any) any {
	t.Helper()
	text := assert.Value(json.Marshal(v))(t)
	var plain any
	assert.NilError(t, json.Unmarshal(text, &plain))
	return plain
}

func TestEffective(t *testing.T) {
	const onControlPlanes = "machineLabelSelector: {matchLabels: {rke.cattle.io/control-plane-role: 'true'}}"
	for _, c := range []struct {
		name, config string
		class        string // default controlplane
		version      string // default v1.26.15+rke2r1
		want         string // JSON
	}{
		{name: "no configuration at all", want: `{}`},
		{
			name:   "the global configuration reaches all machines",
			config: "machineGlobalConfig: {kubelet-arg: [v=2]}", class: "worker",
			want: `{"kubelet-arg":["v=2"]}`,
		},
		{
			name:   "a later list replaces an earlier one and is not appended",
			config: "machineGlobalConfig: {kubelet-arg: [a=1, b=2]}\nmachineSelectorConfig:\n- config: {kubelet-arg: [c=3]}",
			want:   `{"kubelet-arg":["c=3"]}`,
		},
		{
			name:   "keys are replaced one by one",
			config: "machineGlobalConfig: {cni: calico, debug: true}\nmachineSelectorConfig:\n- config: {cni: canal}",
			want:   `{"cni":"canal","debug":true}`,
		},
		{
			name:   "the last match wins, not the most specific one",
			config: "machineSelectorConfig:\n- " + onControlPlanes + "\n  config: {cni: first}\n- config: {cni: last}",
			want:   `{"cni":"last"}`,
		},
		{
			name:   "the global configuration comes first wherever it is",
			config: "machineSelectorConfig:\n- config: {cni: entry}\nmachineGlobalConfig: {cni: global}",
			want:   `{"cni":"entry"}`,
		},
		{
			name:   "an entry that does not match changes nothing",
			config: "machineGlobalConfig: {kubelet-arg: [v=2]}\nmachineSelectorConfig:\n- " + onControlPlanes + "\n  config: {kubelet-arg: [v=9]}",
			class:  "worker", want: `{"kubelet-arg":["v=2"]}`,
		},
		{
			name:   "a machine of several roles gets every entry",
			config: "machineSelectorConfig:\n- " + onControlPlanes + "\n  config: {cni: cp, debug: true}\n- machineLabelSelector: {matchLabels: {rke.cattle.io/worker-role: 'true'}}\n  config: {cni: worker}",
			class:  "controlplane+worker", want: `{"cni":"worker","debug":true}`,
		},
		{name: "a later null erases", config: "machineGlobalConfig: {cni: calico}\nmachineSelectorConfig:\n- config: {cni: null}", want: `{}`},
		{name: "a later empty value erases", config: "machineGlobalConfig: {cni: calico}\nmachineSelectorConfig:\n- config:\n    cni:", want: `{}`},
		{name: "a later number erases", config: "machineGlobalConfig: {cni: calico}\nmachineSelectorConfig:\n- config: {cni: 1}", want: `{}`},
		{name: "a later mapping erases", config: "machineGlobalConfig: {kubelet-arg: [v=2]}\nmachineSelectorConfig:\n- config: {kubelet-arg: {v: 3}}", want: `{}`},
		{name: "a later empty list overrides", config: "machineGlobalConfig: {kubelet-arg: [v=2]}\nmachineSelectorConfig:\n- config: {kubelet-arg: []}", want: `{"kubelet-arg":[]}`},
		{name: "a later empty string overrides", config: "machineGlobalConfig: {kubelet-arg: [v=2]}\nmachineSelectorConfig:\n- config: {kubelet-arg: ''}", want: `{"kubelet-arg":""}`},
		{name: "a good value after a null counts", config: "machineGlobalConfig: {cni: null}\nmachineSelectorConfig:\n- config: {cni: calico}", want: `{"cni":"calico"}`},
		{name: "a string may replace a list", config: "machineGlobalConfig: {kube-controller-manager-arg: enable-leader-migration}", want: `{"kube-controller-manager-arg":"enable-leader-migration"}`},
		{name: "a null configuration sets nothing", config: "machineGlobalConfig: {cni: calico}\nmachineSelectorConfig:\n- config:\n  cni: canal", want: `{"cni":"calico"}`},
		{name: "NotIn matches machines without the label", config: "machineSelectorConfig:\n- machineLabelSelector: {matchExpressions: [{key: rke.cattle.io/worker-role, operator: NotIn, values: ['true']}]}\n  config: {debug: true}", class: "etcd", want: `{"debug":true}`},
		{name: "a misspelt selector widens", config: "machineSelectorConfig:\n- machineLabelSelectors: {matchLabels: {rke.cattle.io/etcd-role: 'true'}}\n  config: {debug: true}", class: "worker", want: `{"debug":true}`},
		{name: "booleans are converted", config: "machineGlobalConfig: {protect-kernel-defaults: 'on', etcd-expose-metrics: ' T ', disable-cloud-controller: 'true'}", want: `{"protect-kernel-defaults":false,"etcd-expose-metrics":true,"disable-cloud-controller":"true"}`},
		{name: "YAML 1.1 words are booleans", config: "machineGlobalConfig: {disable-cloud-controller: yes, selinux: off, cni: 'no'}", want: `{"disable-cloud-controller":true,"selinux":false,"cni":"no"}`},
		{name: "0644 is a number", config: "machineGlobalConfig: {resolv-conf: 0644, pause-image: 2024-10-04}", want: `{"pause-image":"2024-10-04"}`},
		{name: "workers lose server keys", config: "machineGlobalConfig: {kube-apiserver-arg: [v=2], disable-cloud-controller: true, cloud-provider-name: aws}", class: "worker", want: `{"cloud-provider-name":"aws"}`},
		{name: "pure etcd machines keep server keys", config: "machineGlobalConfig: {kube-apiserver-arg: [v=2], disable-cloud-controller: true}", class: "etcd", want: `{"kube-apiserver-arg":["v=2"],"disable-cloud-controller":true}`},
		{name: "unknown keys are dropped", config: "machineGlobalConfig: {kubeapi-server-arg: [v=2], node-name: n, token: t, 'kubelet-arg+': [v=2], Kubelet-Arg: [v=2], profile: cis}", want: `{"profile":"cis"}`},
		{name: "keys of later releases are dropped", config: "machineGlobalConfig: {tls-san-security: true}", version: "v1.24.16+rke2r1", want: `{}`},
		{name: "an unlisted release knows the keys of all", config: "machineGlobalConfig: {tls-san-security: 'y', embedded-registry: true, node-name: n}", version: "v1.24.99+rke2r1", want: `{"tls-san-security":true,"embedded-registry":true}`},
		{name: "data-dir is dropped", config: "machineGlobalConfig: {data-dir: /a}", want: `{}`},
		{name: "data-dir comes from the data directories", config: "machineGlobalConfig: {data-dir: /a}\ndataDirectories: {k8sDistro: /b}", class: "worker", want: `{"data-dir":"/b"}`},
		{name: "an empty data directory sets nothing", config: "dataDirectories: {k8sDistro: '', provisioning: /c}", want: `{}`},
		{name: "a pool's label makes a server", config: "machineGlobalConfig: {kube-apiserver-arg: [v=2]}\nmachinePools:\n- {name: odd, workerRole: true, labels: {rke.cattle.io/etcd-role: 'true'}}", class: "odd", want: `{"kube-apiserver-arg":["v=2"]}`},
		{name: "a pool's label takes the role away", config: "machineGlobalConfig: {kube-apiserver-arg: [v=2]}\nmachinePools:\n- {name: odd, etcdRole: true, labels: {rke.cattle.io/etcd-role: 'false'}}", class: "odd", want: `{}`},
	} {
		if c.class == "" {
			c.class = "controlplane"
		}
		if c.version == "" {
			c.version = "v1.26.15+rke2r1"
		}
		cluster := opened(t, c.version, c.config)
		got := cluster.Effective(classOf(t, cluster, c.class)).Values()
		assert.DeepEqual(t, throughJSON(t, got), throughJSON(t, json.RawMessage(c.want)), c.name)
	}
}

const layered = `
machineGlobalConfig:
  # the arguments
  kubelet-arg:
    # of the kubelet
    - v=2
  cni: calico
  data-dir: /a
machineSelectorConfig:
- machineLabelSelector: {matchLabels: {rke.cattle.io/worker-role: "true"}}
  config:
    kubelet-arg: [v=3]
- config: {cni: null, kubelet-arg: [v=4]}
- machineLabelSelector: {matchLabels: {rke.cattle.io/control-plane-role: "true"}}
  config:
    kubelet-arg: {v: 5}
    kube-apiserver-arg: 6
- config: {kube-scheduler-arg: [v=7], no-such-key: 8}
dataDirectories: {k8sDistro: /b}
`

func TestEffectiveNamesTheOriginAndWhatItOverrides(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", layered)
	for _, test := range []struct {
		class, key string
		want       []string // the origin, then what it overrides
	}{
		{"worker", "kubelet-arg", []string{"18 machineSelectorConfig[1].config.kubelet-arg", "9 machineGlobalConfig.kubelet-arg", "17 machineSelectorConfig[0].config.kubelet-arg"}},
		{"etcd", "kubelet-arg", []string{"18 machineSelectorConfig[1].config.kubelet-arg", "9 machineGlobalConfig.kubelet-arg"}},
		{"etcd", "kube-scheduler-arg", []string{"23 machineSelectorConfig[3].config.kube-scheduler-arg"}},
		{"etcd", "data-dir", []string{"24 dataDirectories.k8sDistro", "13 machineGlobalConfig.data-dir"}},
	} {
		s, ok := c.Effective(classOf(t, c, test.class))[test.key]
		if !ok {
			t.Errorf("%s does not get %s", test.class, test.key)
			continue
		}
		got := append(places(s.Origin), places(s.Overridden...)...)
		assert.DeepEqual(t, got, test.want, test.key, test.class)
	}
}

func TestLinesCountFromTheStartOfTheStream(t *testing.T) {
	doc := assert.Value(yamledit.Parse(yamledit.Chunk{File: "c.yaml", Line: 100, Bytes: []byte(document("v1.26.15+rke2r1", layered))}))(t)
	c := assert.Value(rke2.Open(doc, transform.Target{}))(t)
	assert.Equal(t, c.Effective(classOf(t, c, "etcd"))["kubelet-arg"].Origin.Line(), 118, "line")
}

func TestCandidatesAreInTheOrderOfTheMerge(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", layered)
	for class, want := range map[string][]string{
		"worker":       {"9 machineGlobalConfig.kubelet-arg", "17 machineSelectorConfig[0].config.kubelet-arg", "18 machineSelectorConfig[1].config.kubelet-arg"},
		"controlplane": {"9 machineGlobalConfig.kubelet-arg", "18 machineSelectorConfig[1].config.kubelet-arg", "21 machineSelectorConfig[2].config.kubelet-arg"},
	} {
		assert.DeepEqual(t, places(c.Candidates(classOf(t, c, class), "kubelet-arg")...), want, class)
	}
	assert.Equal(t, len(c.Candidates(c.Classes[0], "debug")), 0, "debug is set")
}

func TestDroppedNamesKeyPlaceAndReason(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", layered)
	type drop struct {
		Key, Reason, Origin string
	}
	const config = "machineSelectorConfig"
	null := drop{"cni", "null is dropped", "18 " + config + "[1].config.cni"}
	unknown := drop{"no-such-key", "the release does not have the key", "23 " + config + "[3].config.no-such-key"}
	dir := drop{"data-dir", "the release does not have the key", "13 machineGlobalConfig.data-dir"}
	for class, want := range map[string][]drop{
		"controlplane": {
			null, dir,
			{"kube-apiserver-arg", "a number is dropped", "22 " + config + "[2].config.kube-apiserver-arg"},
			{"kubelet-arg", "a mapping is dropped", "21 " + config + "[2].config.kubelet-arg"},
			unknown,
		},
		"etcd": {null, dir, unknown},
		"worker": {
			{"cni", "workers do not have the key", null.Origin}, dir,
			{"kube-scheduler-arg", "workers do not have the key", "23 " + config + "[3].config.kube-scheduler-arg"},
			unknown,
		},
	} {
		assert.DeepEqual(t, lists.Map(dropped(t, c, class), func(d transform.Dropped) drop { return drop{d.Key, d.Reason, places(d.Origin)[0]} }), want, class)
	}
}

// dropped returns what does not reach the machines of a class.
func dropped(t *testing.T, c *rke2.Cluster, class string) []transform.Dropped {
	t.Helper()
	of, found := lists.Find(c.Explain(), func(m transform.MachineClass) bool { return m.Name == class })
	assert.Mustf(t, found, "no class %s", class)
	return of.Dropped
}

// A key either reaches a machine or is dropped with a reason.
func TestEveryKeyIsKeptOrDropped(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", strings.ReplaceAll(layered, "dataDirectories", "ignored"))
	for _, class := range c.Classes {
		kept, dropped, all := c.Effective(class), dropped(t, c, class.Name), map[string]bool{}
		for _, l := range c.Layers {
			for _, e := range l.Config.Entries() {
				if len(c.Candidates(class, e.Key)) > 0 {
					all[e.Key] = true
				}
			}
		}
		assert.Truef(t, len(kept)+len(dropped) == len(all), "%s: %d kept, %d dropped of %d", class.Name, len(kept), len(dropped), len(all))
		for _, d := range dropped {
			_, both := kept[d.Key]
			assert.Truef(t, !both, "%s: %s is kept and dropped", class.Name, d.Key)
		}
	}
}

func TestPoolLabels(t *testing.T) {
	for _, c := range []struct {
		name, pool string
		want       map[string]string // "" for a label that must be absent
	}{
		{
			"all of Rancher's own",
			`{name: p, etcdRole: true, controlPlaneRole: true, workerRole: false}`,
			map[string]string{
				effective.LabelEtcd: "true", effective.LabelControlPlane: "true", effective.LabelWorker: "", effective.LabelOS: "linux",
				"rke.cattle.io/rke-machine-pool-name": "p",
				"rke.cattle.io/cluster-name":          "demo",
				"cluster.x-k8s.io/cluster-name":       "demo",
				"cluster.x-k8s.io/deployment-name":    "demo-p",
				"cluster.x-k8s.io/control-plane":      "true",
			},
		},
		{"workers are no control plane of Cluster API", `{name: p, workerRole: true}`,
			map[string]string{effective.LabelWorker: "true", effective.LabelControlPlane: "", "cluster.x-k8s.io/control-plane": ""}},
		{"the system of the machines", `{name: p, workerRole: true, machineOS: windows}`, map[string]string{effective.LabelOS: "windows"}},
		{
			"the pool's labels come last",
			`{name: p, workerRole: true, machineOS: windows, labels: {cattle.io/os: linux, rke.cattle.io/worker-role: "no", rke.cattle.io/rke-machine-pool-name: q, zone: a}}`,
			map[string]string{effective.LabelOS: "linux", effective.LabelWorker: "no", "rke.cattle.io/rke-machine-pool-name": "q", "zone": "a"},
		},
		{"labels of the machine deployment do not reach machines", `{name: p, workerRole: true, machineDeploymentLabels: {zone: a}}`, map[string]string{"zone": ""}},
		{"a role as a YAML 1.1 boolean", `{name: p, etcdRole: yes, workerRole: off}`, map[string]string{effective.LabelEtcd: "true", effective.LabelWorker: ""}},
		{"a long name is cut as Rancher cuts it", `{name: ` + strings.Repeat("x", 70) + `, workerRole: true}`,
			map[string]string{"cluster.x-k8s.io/deployment-name": "demo-" + strings.Repeat("x", 52) + "-2c492"}},
	} {
		labels := opened(t, "v1.26.15+rke2r1", "machinePools:\n- "+c.pool).Classes[0].Labels
		for key, want := range c.want {
			assert.Equal(t, labels[key], want, c.name, key)
		}
	}
}

func TestRolesAreReadFromLabelsNotFromFields(t *testing.T) {
	c := opened(t, "v1.26.15+rke2r1", `
machinePools:
- {name: made-server, workerRole: true, labels: {rke.cattle.io/control-plane-role: "true"}}
- {name: unmade, controlPlaneRole: true, labels: {rke.cattle.io/control-plane-role: "false"}}
- {name: windows, workerRole: true, labels: {cattle.io/os: windows}}
`)
	made, unmade, windows := c.Classes[0], c.Classes[1], c.Classes[2]
	assert.Truef(t, made.ControlPlane() && made.Server() && made.Worker() && !made.Etcd() && !made.Windows(), "made-server: %v", made.Labels)
	assert.Truef(t, !unmade.ControlPlane() && !unmade.Server(), "unmade: %v", unmade.Labels)
	assert.Truef(t, windows.Windows() && !windows.Server(), "windows: %v", windows.Labels)
}
