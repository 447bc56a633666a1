// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// The files of a plan that matter here.
const (
	configFile   = "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml"
	manifestFile = "/var/lib/rancher/rke2/server/manifests/rancher/addons.yaml"
)

// render makes the plan of a machine: the effective configuration with what Rancher's planner adds, the
// manifest on control planes, and the instruction to install, after which more may come.
func (r *provisioning) render(m Machine, read *rke2.Cluster, extra []string) (plan.NodePlan, error) {
	i := slices.IndexFunc(read.Classes, func(c rke2.Class) bool { return c.Name == m.Pool })
	if i < 0 {
		return plan.NodePlan{}, fmt.Errorf("rancher: machine %s has lost its pool %s", m.Name, m.Pool)
	}
	config := map[string]any{"cni": "calico"}
	for key, value := range read.Effective(read.Classes[i]) {
		config[key] = value.Value
	}
	r.complete(config, m)
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return plan.NodePlan{}, err
	}
	version, _ := read.Root.Get("spec", "kubernetesVersion").String()
	image := "rancher/system-agent-installer-rke2:" + strings.ReplaceAll(version, "+", "-")
	p := plan.NodePlan{
		Files:        []plan.File{{Content: base64.StdEncoding.EncodeToString(text), Path: configFile}},
		Instructions: []plan.OneTimeInstruction{{Name: "install", Image: image, Command: "sh", Args: []string{"-c", "run.sh"}, Env: []string{"RESTART_STAMP=" + hash(text, []byte(image))}}},
	}
	if manifest, ok := read.RKEConfig().Get("additionalManifest").String(); ok && m.ControlPlane {
		p.Files = append(p.Files, plan.File{Content: base64.StdEncoding.EncodeToString([]byte(manifest)), Path: manifestFile, Dynamic: true})
	}
	if extra != nil {
		p.Instructions = append(p.Instructions, plan.OneTimeInstruction{Name: "create", Command: "rke2", Args: extra})
	}
	return p, nil
}

// complete adds what the planner adds: tokens, labels, taints and, on control planes, where the managers
// listen and keep their certificates.
func (r *provisioning) complete(config map[string]any, m Machine) {
	config["agent-token"] = suffix(r.Name+"agent", 40)
	if !m.ControlPlane && !m.Etcd {
		config["token"] = config["agent-token"]
		delete(config, "agent-token")
	} else {
		config["token"] = suffix(r.Name+"server", 40)
	}
	if m.Name != r.Machines[0].Name {
		config["server"] = "https://" + r.Machines[0].Node + ":9345"
	}
	config["node-label"] = []string{machineLabel + "=" + m.uid}
	config["node-taint"] = m.taints()
	if !m.ControlPlane {
		return
	}
	for name, port := range map[string]string{"kube-controller-manager": "10257", "kube-scheduler": "10259"} {
		folder := "/var/lib/rancher/rke2/server/tls/" + name
		config[name+"-arg"] = withDefaults(config[name+"-arg"], "cert-dir="+folder, "secure-port="+port)
		config[name+"-extra-mount"] = []string{folder + ":" + folder}
	}
}

// taints keep other pods away from machines that are no workers.
func (m Machine) taints() []string {
	list := []string{}
	if m.ControlPlane && !m.Worker {
		list = append(list, "node-role.kubernetes.io/control-plane:NoSchedule")
	}
	if m.Etcd && !m.Worker {
		list = append(list, "node-role.kubernetes.io/etcd:NoExecute")
	}
	return list
}

// withDefaults returns a user's arguments as a list, with those that the user has not set after them.
func withDefaults(user any, defaults ...string) []string {
	var list []string
	named := args.Of(user)
	for _, a := range named {
		list = append(list, a.Text)
	}
	for _, text := range defaults {
		if _, set := args.Last(named, args.Parse(text).Name); !set {
			list = append(list, text)
		}
	}
	return list
}

// run does on a machine what its plan says.
func (r *provisioning) run(ctx context.Context, m Machine, p plan.NodePlan) error {
	if slices.ContainsFunc(p.Instructions, func(i plan.OneTimeInstruction) bool { return i.Name == "create" }) {
		r.snapshotTaken()
	}
	files := map[string][]byte{}
	for _, f := range p.Files {
		text, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return err
		}
		files[f.Path] = text
	}
	var config map[string]any
	if err := json.Unmarshal(files[configFile], &config); err != nil {
		return err
	}
	r.configure(m.Name, config)
	return r.rke2.Run(ctx, m.of(), config, map[string]string{manifestFile: string(files[manifestFile])})
}

func hash(parts ...[]byte) string {
	sum := sha256.Sum256(bytes.Join(parts, nil))
	return hex.EncodeToString(sum[:])
}
