// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const sampleDaemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-cloud-controller-manager, namespace: kube-system, annotations: {a: b}}
spec:
  selector: {matchLabels: {app: ccm}}
  template:
    metadata: {labels: {app: ccm}}
    spec:
      containers:
      - name: ccm
        image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6
        args: [--v=2, --cloud-provider=aws]
        volumeMounts: [{name: x, mountPath: /etc/x}]
      volumes: [{name: x, hostPath: {path: /etc/x}}]
`

const sampleHelmChart = `
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
spec:
  chart: aws-cloud-controller-manager
  repo: https://kubernetes.github.io/cloud-provider-aws
  version: 0.0.8
  targetNamespace: kube-system
  valuesContent: |
    image: {tag: v1.26.6}
    args: [--v=2, --cloud-provider=aws]
    nodeSelector: {node-role.kubernetes.io/control-plane: "true"}
    tolerations: [{key: a, operator: Exists}]
`

const sampleRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cloud-provider-extraction-migration, namespace: kube-system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, update]}]
`

const sampleConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: leader-migration-config, namespace: kube-system}
data: {leadermigration.conf: "kind: LeaderMigrationConfiguration"}
`

// samples are documents with most of what is read, and the key below which a text
// holds manifests.
var samples = map[string]struct {
	text      string
	manifests []string // path to the text
	inner     string   // manifests in it
}{
	"rke2": {text: `
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: a, namespace: fleet-default, annotations: {x: y}, labels: {x: y}}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    etcd: {snapshotScheduleCron: "0 */6 * * *", snapshotRetention: 8}
    machineGlobalConfig:
      cni: calico
      cloud-provider-name: aws
      disable-cloud-controller: false
      kube-controller-manager-arg: [cloud-provider=aws, profiling=false]
      kubelet-arg: cloud-provider=aws
    machineSelectorConfig:
    - config: {kube-apiserver-arg: [cloud-provider=aws]}
      machineLabelSelector:
        matchLabels: {rke.cattle.io/control-plane-role: "true"}
        matchExpressions: [{key: rke.cattle.io/etcd-role, operator: In, values: ["true"]}]
    - config: {protect-kernel-defaults: false}
    machineSelectorFiles:
    - fileSources: [{configMap: {name: c, items: [{key: k, path: /etc/x}]}}]
      machineLabelSelector: {matchLabels: {a: b}}
    machinePools:
    - {name: cp, controlPlaneRole: true, etcdRole: true, quantity: 1, labels: {a: b}, taints: [{key: t, effect: NoSchedule}]}
    - {name: w, workerRole: true, quantity: 2}
    chartValues: {rke2-calico: {a: b}}
`},
	"rke2-daemonset": {text: "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}}}\n", manifests: []string{"spec", "rkeConfig", "additionalManifest"}, inner: sampleDaemonSet},
	"rke2-chart":     {text: "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: external}}}\n", manifests: []string{"spec", "rkeConfig", "additionalManifest"}, inner: sampleHelmChart},
	"rke2-role":      {text: "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}}}\n", manifests: []string{"spec", "rkeConfig", "additionalManifest"}, inner: sampleRole},
	"rke2-configmap": {text: "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}}}\n", manifests: []string{"spec", "rkeConfig", "additionalManifest"}, inner: sampleConfigMap},
	"rke1": {text: `
cluster_name: a
kubernetes_version: v1.26.15-rancher1-1
nodes: [{address: 10.0.4.11, internal_address: 10.0.4.11, user: u, role: [controlplane, etcd, worker], labels: {a: b}}]
cloud_provider: {name: aws, awsCloudProvider: {global: {zone: a}, service_override: {x: {service: ec2}}}}
services:
  kube-api: {extra_args: {cloud-provider: aws}}
  kube-controller: {extra_args: {profiling: "false"}, extra_args_array: {v: ["2"]}, extra_binds: ["/a:/a"], extra_env: ["A=b"]}
  kubelet: {extra_args: {v: "2"}}
system_images: {kubernetes: ""}
addons_include: [https://example.com/a.yaml]
`},
	"rke1-daemonset": {text: "cluster_name: a\nkubernetes_version: v1.26.15-rancher1-1\nnodes: [{address: 10.0.4.11, role: [controlplane]}]\ncloud_provider: {name: aws}\nservices: {}\n", manifests: []string{"addons"}, inner: sampleDaemonSet},
	"rke1-role":      {text: "cluster_name: a\nkubernetes_version: v1.26.15-rancher1-1\nnodes: [{address: 10.0.4.11, role: [controlplane]}]\ncloud_provider: {name: aws}\nservices: {}\n", manifests: []string{"addons"}, inner: sampleRole},
	"daemonset":      {text: sampleDaemonSet},
	"finished":       {text: strings.Replace(strings.Replace(sampleDaemonSet, "{a: b}", "{rke-lm.io/leader-migration: finished}", 1), "--v=2", "--enable-leader-migration", 1)},
	"pod": {text: `
apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager, namespace: kube-system, labels: {a: b}}
spec:
  containers:
  - name: kube-controller-manager
    image: registry.k8s.io/kube-controller-manager:v1.26.15
    command: [kube-controller-manager, --cloud-provider=aws, --kubeconfig=/etc/kubernetes/c]
    volumeMounts: [{name: k, mountPath: /etc/kubernetes/c, readOnly: true}]
  volumes: [{name: k, hostPath: {path: /etc/kubernetes/c, type: File}}]
`},
	"deployment": {text: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kube-controller-manager, namespace: kube-system}
spec:
  replicas: 2
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0}}
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {kubernetes.io/hostname: x}
      containers: [{name: m, image: "registry.k8s.io/kube-controller-manager:v1.26.15", command: [kube-controller-manager], args: [--cloud-provider=aws, "--controllers=*"]}]
      volumes: [{name: c, secret: {secretName: c}}]
`},
	"configuration": {text: `
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
kubernetesVersion: v1.26.15
clusterName: a
apiServer: {extraArgs: {cloud-provider: aws}}
controllerManager: {extraArgs: {cloud-provider: aws}, extraVolumes: [{name: a, hostPath: /a, mountPath: /a}]}
`},
	"new nodes": {text: "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nnodeRegistration: {name: n, kubeletExtraArgs: {cloud-provider: aws, v: \"2\"}, taints: [{key: a, effect: NoSchedule}]}\n"},
}

// misfits are values that a part may have instead of its own.
var misfits = []any{nil, "x", "", 7, true, []any{}, map[string]any{}, []any{nil}, []any{map[string]any{}}, map[string]any{"": nil}}

// eachWrong calls use with every variant of a value in which one part is missing or
// of another type, and what was done.
func eachWrong(root any, use func(variant any, what string)) {
	var walk func(at any, path string, set func(any))
	walk = func(at any, path string, set func(any)) {
		for _, w := range misfits {
			set(w)
			use(root, fmt.Sprintf("%s: %#v", path, w))
		}
		set(at)
		switch at := at.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(at)) {
				was := at[k]
				delete(at, k)
				use(root, path+"."+k+" is missing")
				at[k] = was
				walk(was, path+"."+k, func(v any) { at[k] = v })
			}
		case []any:
			for i, was := range at {
				walk(was, fmt.Sprintf("%s[%d]", path, i), func(v any) { at[i] = v })
			}
		}
	}
	top, is := root.(map[string]any)
	if !is {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(top)) {
		was := top[k]
		delete(top, k)
		use(root, k+" is missing")
		top[k] = was
		walk(was, k, func(v any) { top[k] = v })
	}
}

func parsedYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	assert.NilError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	text := assert.Value(yaml.Marshal(v))(t)
	return string(text)
}

// putBelow sets a value below a path of keys.
func putBelow(in map[string]any, path []string, v any) {
	for _, k := range path[:len(path)-1] {
		in = in[k].(map[string]any)
	}
	in[path[len(path)-1]] = v
}

// Documents whose parts are missing, null or of another type are refused with their
// place, or planned to an end that lasts. Nothing panics, and nothing is taken for a
// bug of rke-lm.
func TestMalformedDocumentsAreRefusedWithTheirPlace(t *testing.T) {
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := parsedYAML(t, s.text)
			count := 0
			try := func(text, what string) {
				if count++; testing.Short() && count%4 != 0 {
					return
				}
				err := transform.Guard(what, func() error { return tryMalformed("", text) })
				assert.Truef(t, err == nil, "%s: %v\n%s", what, err, text)
			}
			if s.inner == "" {
				eachWrong(outer, func(v any, what string) { try(marshalled(t, v), what) })
			} else {
				eachWrong(parsedYAML(t, s.inner), func(v any, what string) {
					putBelow(outer, s.manifests, marshalled(t, v))
					try(marshalled(t, outer), "manifest: "+what)
				})
			}
			assert.Truef(t, count >= 50, "only %d variants", count)
		})
	}
}

// A distro that is forced on a document refuses what it is not.
func TestAForcedDistroRefusesOtherDocuments(t *testing.T) {
	texts := []string{"x\n", "[]\n", "{}\n", "7\n", "- a\n", "a:\n", "kind: Pod\n", "apiVersion: v1\nkind: Pod\n", "spec:\n", "spec: {rkeConfig: }\n"}
	for _, s := range samples {
		texts = append(texts, s.text)
	}
	for _, distro := range distroNames() {
		for _, text := range texts {
			err := transform.Guard(distro, func() error { return tryMalformed(distro, text) })
			assert.Truef(t, err == nil, "%v\n%s", err, text)
		}
	}
}

// tryMalformed lints, explains and plans a document, and returns what must not be.
func tryMalformed(distro, text string) error {
	o := run.Search{Distros: distros(), Distro: distro}
	if err := o.Check(); err != nil {
		return err
	}
	_, f, err := o.Finder.Open(yamledit.Chunk{File: "m.yaml", Bytes: []byte(text)})
	if err != nil || f.Docs == nil {
		return unfit(err)
	}
	target := transform.Target{EndState: transform.EndStateExternal, AssumeVersion: assumedFor(f.Distro.Name)}
	c, err := f.Distro.Lint(f.Docs, target)
	if c != nil {
		c.Findings("")
	}
	if err := unfit(err); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	_, err = f.Distro.Explain(f.Docs, target)
	if err := unfit(err); err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	p, err := plan.Build(f.Distro, f.Docs, target)
	if err != nil {
		return unfit(err)
	}
	var made []plan.Step
	for _, s := range p.Steps {
		if s.State == plan.Blocked {
			return nil
		}
		if s.Changes() {
			made = append(made, s)
		}
	}
	return plan.StayDone(f.Distro, made, target)
}

func assumedFor(distro string) string {
	return map[string]string{"rke2": "v1.26.15+rke2r1", "rke1": "v1.26.15-rancher1-1"}[distro]
}

// unfit returns an error that is none about the document and its place.
func unfit(err error) error {
	var at *yamledit.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at) || at.File == "" || at.Line == 0 || at.Do == "":
		return fmt.Errorf("no place, or nothing to do: %w", err)
	case strings.Contains(err.Error(), "bug of rke-lm"):
		return err
	}
	return nil
}
