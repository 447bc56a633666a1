// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective_test

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

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
