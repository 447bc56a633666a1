// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// The files of a plan that matter to tests, and the label of a Node that names its Machine.
const (
	ConfigFile   = "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml"
	ManifestFile = "/var/lib/rancher/rke2/server/manifests/rancher/addons.yaml"
	MachineLabel = "rke.cattle.io/machine"
)

// Machine is one of a cluster of RKE2, as Rancher has it.
type Machine struct {
	Cluster, Namespace, Name, UID string
	Labels                        map[string]string // of the Machine
	ControlPlane, Etcd, Worker    bool
	Server                        string // host of the machine that began the cluster; "" for that one
}

// ControlPlane is the specification that Rancher gives the RKEControlPlane of a cluster (rancher
// pkg/controllers/capr/provisioningcluster).
func ControlPlane(cluster []byte, name, id string) (*rkev1.RKEControlPlaneSpec, error) {
	var c provv1.Cluster
	if err := json.Unmarshal(cluster, &c); err != nil {
		return nil, err
	}
	for _, m := range []*rkev1.GenericMap{&c.Spec.RKEConfig.ChartValues, &c.Spec.RKEConfig.MachineGlobalConfig} {
		if m.Data == nil {
			m.Data = map[string]any{} // definitions refuse null
		}
	}
	return &rkev1.RKEControlPlaneSpec{
		ClusterConfiguration: c.Spec.RKEConfig.ClusterConfiguration, AgentEnvVars: c.Spec.AgentEnvVars,
		LocalClusterAuthEndpoint: c.Spec.LocalClusterAuthEndpoint, ETCDSnapshotCreate: c.Spec.RKEConfig.ETCDSnapshotCreate,
		ETCDSnapshotRestore: c.Spec.RKEConfig.ETCDSnapshotRestore, RotateCertificates: c.Spec.RKEConfig.RotateCertificates,
		RotateEncryptionKeys: c.Spec.RKEConfig.RotateEncryptionKeys, KubernetesVersion: c.Spec.KubernetesVersion,
		ClusterName: name, ManagementClusterName: id,
	}, nil
}

// Object is the Machine.
func (m Machine) Object() map[string]any {
	ref := func(group, kind string) map[string]any {
		return map[string]any{"apiVersion": group + "/v1", "kind": kind, "name": m.Name, "namespace": m.Namespace}
	}
	return map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": m.Name, "namespace": m.Namespace, "labels": decoded(encoded(m.Labels))},
		"spec": map[string]any{"clusterName": m.Cluster, "bootstrap": map[string]any{"configRef": ref("rke.cattle.io", "RKEBootstrap")},
			"infrastructureRef": ref("rke-machine.cattle.io", "Amazonec2Machine")},
	}
}

// Link writes what a Machine shows of the provider ID that its infrastructure has, "" for none, and of the Node with
// that ID, by which alone it is looked for (cluster-api internal/controllers/machine). The name of none is forgotten.
func Link(machine map[string]any, id, node string) {
	status := StatusOf(machine)
	found, provisioned, why := "False", "False", "WaitingForNodeRef"
	status["phase"] = "Provisioning"
	if id != "" {
		machine["spec"].(map[string]any)["providerID"] = id
		provisioned, why, status["phase"] = "True", "NodeNotFound", "Running"
	}
	if node != "" {
		found, why = "True", ""
		status["nodeRef"] = map[string]any{"apiVersion": "v1", "kind": "Node", "name": node}
	}
	SetCondition(status, "InfrastructureReady", provisioned, "")
	SetCondition(status, "NodeHealthy", found, "", why)
	SetCondition(status, "Ready", found, "")
}

// NonReady is what the planner reports of machines without Nodes, when all have their plans. The specification is not the
// applied one then (rancher pkg/capr/planner, reconcile).
func NonReady(machines []string) string {
	if len(machines) == 0 {
		return ""
	}
	return "non-ready worker machine(s) " + strings.Join(machines, ",") + ": waiting for node ref"
}

// Secret is the one by which the machine gets its plans, without one.
func (m Machine) Secret() *corev1.Secret {
	s := &corev1.Secret{Type: rollout.PlanType}
	s.APIVersion, s.Kind, s.Namespace, s.Name = "v1", "Secret", m.Namespace, m.Name+"-machine-plan"
	s.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": m.Cluster, "rke.cattle.io/machine-name": m.Name, "rke.cattle.io/machine-id": Draw(m.Name, 16)}
	maps.Copy(s.Labels, m.Labels)
	if m.Server == "" {
		s.Labels[rollout.InitLabel] = "true"
	}
	return s
}

// Plan makes the plan of the machine: its effective configuration with what Rancher's planner adds, the
// manifest on control planes, and the instruction to install.
func (m Machine) Plan(config map[string]any, version, manifest string) plan.NodePlan {
	rendered := map[string]any{"cni": "calico"}
	maps.Copy(rendered, config)
	m.complete(rendered)
	text, err := json.MarshalIndent(rendered, "", "  ")
	if err != nil {
		panic(err) // it came as YAML
	}
	image := "rancher/system-agent-installer-rke2:" + strings.ReplaceAll(version, "+", "-")
	p := plan.NodePlan{
		Files:        []plan.File{{Content: base64.StdEncoding.EncodeToString(text), Path: ConfigFile}},
		Instructions: []plan.OneTimeInstruction{{Name: "install", Image: image, Command: "sh", Args: []string{"-c", "run.sh"}, Env: []string{"RESTART_STAMP=" + hash(string(text)+image)}}},
	}
	if manifest != "" && m.ControlPlane {
		p.Files = append(p.Files, plan.File{Content: base64.StdEncoding.EncodeToString([]byte(manifest)), Path: ManifestFile, Dynamic: true})
	}
	return p
}

// complete adds what the planner adds: tokens, labels, taints and, on control planes, where the managers
// listen and keep their certificates.
func (m Machine) complete(config map[string]any) {
	config["token"] = Draw(m.Cluster+"agent", 40)
	if m.ControlPlane || m.Etcd {
		config["agent-token"], config["token"] = config["token"], Draw(m.Cluster+"server", 40)
	}
	if m.Server != "" {
		config["server"] = "https://" + m.Server + ":9345"
	}
	config["node-label"] = []string{MachineLabel + "=" + m.UID}
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

// MachineFlags state where a machine keeps its certificates and on which address it listens.
var MachineFlags = []string{
	"authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "cert-dir", "client-ca-file", "cloud-config",
	"cluster-signing-cert-file", "cluster-signing-key-file", "flex-volume-plugin-dir", "kubeconfig", "requestheader-client-ca-file",
	"root-ca-file", "secure-port", "service-account-private-key-file", "tls-cert-file", "tls-private-key-file",
}

// Arguments returns the arguments of a component as RKE2 of a version makes them of its configuration: it puts
// the provider's name before the user's, completes bare names and puts the dashes before them (rke2
// pkg/podexecutor). What a machine says of itself is left out.
func Arguments(version string, provider, own any) []string {
	var list []string
	if name, ok := provider.(string); ok && name != "" && !OnlyNames(version, provider) {
		list = append(list, "--cloud-provider="+name)
	}
	for _, a := range args.Of(own) {
		if !slices.Contains(MachineFlags, a.Name) {
			list = append(list, "--"+a.Name+"="+a.Value)
		}
	}
	return list
}

// OnlyNames reports whether a provider's name does nothing but name nodes: from 1.29.11, 1.30.7 and 1.31.3 on
// aws is passed to no component (rke2 pkg/rke2/rke2_linux.go at v1.34.1).
func OnlyNames(version string, provider any) bool {
	return provider == "aws" && semver.Compare(version, "v1.31.3") >= 0
}

// Provider returns the cloud provider of a component, which its last argument decides on; "" for none.
func Provider(list []string) string {
	for _, text := range slices.Backward(list) {
		if name, ok := strings.CutPrefix(text, "--cloud-provider="); ok {
			return name
		}
	}
	return ""
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Draw makes the part of a name that Rancher draws by lot.
func Draw(of string, length int) string { return hash(of)[:length] }
