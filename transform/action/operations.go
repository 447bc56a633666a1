// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

var configuration = []Permission{{For: runs, Of: ManagementGroup, Namespace: kubeSystem, Resource: "configmaps", Verbs: []string{"get", "patch", "delete"}, Why: "only with `--leader-migration-config generate`: the configuration of the cloud-controller-manager"}}

// ApplyFile gives a file that a plan folder holds to the cluster.
func ApplyFile(file, why string) Action {
	return Action{Why: why, Command: Command("kubectl apply -f %s", Path(file)), Needs: configuration, Op: Apply{File: file}}
}

var cloudConfig = Permission{For: runs, Namespace: kubeSystem, Resource: "secrets", Verbs: []string{"create", "patch"}, Why: "only if the provider has a configuration: the chart mounts it"}

// Create puts a file into a Secret.
func Create(s SecretFromFile, why string) Action {
	return Action{
		Why: why,
		Command: Command("kubectl -n %s create secret generic --from-file=%s=%s --dry-run=client -o yaml %--%s | kubectl apply -f -",
			s.Namespace, s.Key, s.File, s.Name),
		Needs: []Permission{cloudConfig}, Op: s,
	}
}

// DeleteAll deletes objects that nothing else takes out of the cluster.
func DeleteAll(namespace, kinds, name, why string) Action {
	return Action{Why: why, Command: Command("kubectl -n %s delete --ignore-not-found %--%s %s", namespace, kinds, name), Op: Delete{namespace, kinds, name}}
}

// DeleteObject takes an object out of the cluster that nothing uses any more.
func DeleteObject(namespace, kind, name string) Action {
	return Action{Why: "at the end, delete the unused object", Command: Command("kubectl -n %s delete %--%s %s", namespace, kind, name), Needs: configuration, Op: Delete{namespace, kind, name}}
}

// AllRemoved shows objects that should have left the cluster with their manifest.
// Rancher does not always delete them (rancher/rancher #36068).
func AllRemoved(namespace, kinds, name string) Action {
	return Action{
		Why:     "this must list nothing; delete manually what it lists, because it is still running",
		Command: Command("kubectl -n %s get --ignore-not-found %--%s %s", namespace, kinds, name),
		Shows:   true, Op: Removed{namespace, kinds, name},
	}
}

// PatchLeaderRole is the published patch of a manager's bootstrap role.
func PatchLeaderRole(component, lease string) Action {
	patch, _ := json.Marshal(map[string][]rbacv1.PolicyRule{"rules": {{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{lease}, Verbs: []string{"create", "list", "get", "update"},
	}}}) // of texts alone
	return Action{
		Why: "the published patch: it replaces every rule that the role has (get, watch and update on the lock of " + component +
			"), and grants create for the name only, which matches no create request; the API server restores missing rules when it starts",
		Command: Command("kubectl patch -n kube-system role system::leader-locking-%s --type=merge -p %s", component, string(patch)),
	}
}

// PodsRunning shows the pods of a manager on all nodes.
func PodsRunning(namespace, component, why string) Action {
	return Action{Why: why, Command: Command("kubectl -n %s get pods -o wide | grep %--%s", namespace, component), Shows: true}
}

// RolledOut waits until the pods of a Deployment or DaemonSet are those of its template.
func RolledOut(namespace, kind, name, why string) Action {
	return Action{Why: why, Command: Command("kubectl -n %s rollout status %--%s/%s", namespace, kind, name), Shows: true}
}

// OnEveryNode shows the nodes that a selector matches, and a DaemonSet to compare with them.
func OnEveryNode(selector, namespace, name, why string) Action {
	return Action{Why: why, Command: Command("kubectl get nodes -l %s; kubectl -n %s get daemonset %--%s", selector, namespace, name), Shows: true}
}

// MayUpdate asks whether a user may update a lease.
func MayUpdate(namespace, lease, user string) Action {
	return Action{Why: "the answer must be yes", Command: Command("kubectl -n %s auth can-i update leases/%s --as %s", namespace, lease, user), Shows: true}
}

// Leases shows who holds the leases of the managers, and that of the migration.
func Leases(namespace, lease, why string) Action {
	return Action{
		Why:     why,
		Command: Command("kubectl -n %s get leases -o custom-columns=NAME:.metadata.name,HOLDER:.spec.holderIdentity,RENEWED:.spec.renewTime %--kube-controller-manager cloud-controller-manager %s", namespace, lease),
		Shows:   true,
	}
}

// CordonAnnotation is on the nodes that rke-lm cordoned; only these are released.
const CordonAnnotation = "rke-lm.io/cordoned"

// What runs need for these actions.
var (
	cordoning    = []Permission{{For: runs, Resource: "nodes", Verbs: []string{"get", "patch"}, Why: "only if the plan cordons control planes: cordon and uncordon"}}
	initializing = []Permission{{For: runs, Resource: "nodes", Verbs: []string{"get", "patch"}, Why: "only for a cluster at Kubernetes 1.27 or later: the taint by which the cloud-controller-manager initializes a Node without a provider ID"}}
	registering  = []Permission{
		{For: migrating, When: WithRestartCommand, Resource: "pods", Verbs: []string{"list"}, Why: "only with --restart-command: the pods of a Node that registers again"},
		{For: migrating, When: WithRestartCommand, Resource: "pods/eviction", Verbs: []string{"create"}, Why: "only with --restart-command: to drain it"},
		{For: migrating, When: WithRestartCommand, Resource: "nodes", Verbs: []string{"delete"}, Why: "only with --restart-command: to delete it"},
	}
)

// CordonNodes cordons the nodes that a selector matches, for a run.
func CordonNodes(selector, run string) Action {
	return Action{
		Why: "cordon the control planes that are not cordoned yet, and annotate them",
		Command: Command(`for node in $(kubectl get nodes -l %s --field-selector spec.unschedulable!=true -o name); do kubectl annotate --overwrite "$node" %s=%s && kubectl cordon "$node"; done`,
			selector, CordonAnnotation, run),
		Needs: cordoning, Op: Cordon{selector},
	}
}

// UncordonNodes releases the nodes of a run.
func UncordonNodes(run string) Action {
	return Action{
		Why: "uncordon exactly the nodes that have the annotation",
		Command: Command(`for node in $(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name}{" "}{.metadata.annotations.rke-lm\.io/cordoned}{"\n"}{end}' | awk -v run=%s '$2 == run {print $1}'); do kubectl uncordon "$node" && kubectl annotate "node/$node" %s-; done`,
			run, CordonAnnotation),
		Needs: cordoning, Op: Uncordon{},
	}
}

// ProviderIDs shows what every node must have at the end.
func ProviderIDs() Action {
	return Action{
		Why:     "every node keeps its name, has a provider ID aws:///ZONE/INSTANCE and no taint uninitialized",
		Command: `kubectl get nodes -o custom-columns='NAME:.metadata.name,PROVIDER-ID:.spec.providerID,ZONE:.metadata.labels.topology\.kubernetes\.io/zone,TAINTS:.spec.taints[*].key'`,
		Shows:   true,
	}
}

// InitializeNodes has the cloud-controller-manager read the instances of Nodes without a
// provider ID. A kubelet without a cloud provider sets none and no taint, and the manager
// initializes only Nodes with the taint (k8s.io/cloud-provider, controllers/node). It finds
// an instance by the Node's name alone, as its private DNS name (kubernetes/cloud-provider-aws,
// pkg/providers/v1/aws.go findInstanceByNodeName at v1.31.9).
func InitializeNodes() Action {
	return Action{
		Why:     "have the cloud-controller-manager initialize every Node without a provider ID; it finds the instance by the Node's name, so first check that this is the private DNS name of the instance (local-hostname in its metadata)",
		Command: `kubectl get nodes --no-headers -o custom-columns=NAME:.metadata.name,ID:.spec.providerID | awk '$2 == "<none>" {print $1}' | xargs -r -I{} kubectl taint node {} --overwrite node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule`,
		Needs:   initializing,
		Op:      Initialize{},
	}
}

// RegisterNodes brings Nodes that another cloud-controller-manager initialized to AWS. A
// provider ID never changes (k8s.io/kubernetes pkg/apis/core/validation), and a kubelet
// registers its Node only when it starts. RKE2 removes the etcd member of a Node that is
// deleted (k3s-io/k3s pkg/etcd/member_controller.go), so the machine of a member is replaced.
func RegisterNodes() Action {
	return Action{
		Why:     "for every Node with the provider ID of another provider, such as rke2://, one at a time: drain it, delete the Node, and restart rke2-agent on its machine, or rke2-server on a control plane without etcd; never delete the Node of an etcd member, because RKE2 then removes the member: replace its machine",
		Command: `kubectl get nodes -o custom-columns='NAME:.metadata.name,PROVIDER-ID:.spec.providerID,CONTROL-PLANE:.metadata.labels.node-role\.kubernetes\.io/control-plane,ETCD:.metadata.labels.node-role\.kubernetes\.io/etcd'`,
		Needs:   registering,
		Op:      Register{},
	}
}

// PlaceFile puts a file that a plan folder holds on every control-plane node.
func PlaceFile(file, path, why string) Action {
	return Action{Why: why, Command: Command("install -m 0644 %s %s", Path(file), Path(path)), Op: Place{file, path}}
}

// RemoveFile takes a file off every control-plane node.
func RemoveFile(path, why string) Action {
	return Action{Why: why, Command: Command("rm %s", Path(path)), Op: Remove{path}}
}

// RKEUp brings a cluster.yml to its cluster.
func RKEUp(config string) Action {
	return Action{Why: "apply the file to the cluster, with its .rkestate file next to it; rke up exits when every node has applied it", Command: Command("rke up --config %s", Path(config))}
}

// KubeadmFile is what KubeadmSource writes.
const KubeadmFile = "ClusterConfiguration.yaml"

// KubeadmSource fetches what kubeadm writes static pods from.
func KubeadmSource() Action {
	return Action{
		Why:     "if kubeadm manages the cluster, make the same change in its ClusterConfiguration, or its next upgrade reverts it; rke-lm plans that document like this one",
		Command: Command("kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > %s", KubeadmFile),
	}
}

// KubeadmUpload stores a ClusterConfiguration in the cluster.
func KubeadmUpload(file string) Action {
	return Action{Why: "upload the changed ClusterConfiguration to the cluster; this changes no static pod", Command: Command("kubeadm init phase upload-config kubeadm --config %s", Path(file))}
}

// APIServerProvider changes the provider of kube-apiserver where it has one. The
// new file is written elsewhere and moved in: the kubelet starts every file in
// the folder that has no dot in front.
func APIServerProvider(from, to string) Action {
	return Action{
		Why:     fmt.Sprintf("on the control-plane nodes, one at a time, make kube-apiserver %s where it has --cloud-provider=%s", to, from),
		Command: Command("sed %s /etc/kubernetes/manifests/kube-apiserver.yaml > /etc/kubernetes/kube-apiserver.yaml && mv /etc/kubernetes/kube-apiserver.yaml /etc/kubernetes/manifests/", otherProvider(from, to)),
	}
}

// KubeletProvider changes the provider of the kubelets. KubeletConfiguration has
// no field for it: it is a flag, in the files of the environment that kubeadm and
// the packages of the kubelet use. also says what else to do.
func KubeletProvider(from, to, when, also string) Action {
	return Action{
		Why:     fmt.Sprintf("%s, on the nodes, one at a time, make the kubelet %s: it is a flag in an environment file, not a field of KubeletConfiguration%s", when, to, also),
		Command: Command("grep -Fls -e --cloud-provider=%s /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet | xargs -r sed -i %s && systemctl restart kubelet", from, otherProvider(from, to)),
		Op:      Kubelets{to},
	}
}

// otherProvider is the program of sed that changes the provider among arguments.
func otherProvider(from, to string) string {
	const flag = "--cloud-provider="
	return Substitute(flag+from, flag+to)
}

// RolloutTime is how long a change may take to reach every machine before something is
// wrong: every wait has it, unless the operator sets another one.
const RolloutTime = time.Hour

// ClusterSettled waits, on Rancher's own cluster, until every machine has taken over the last change of a
// cluster. The conditions of the Cluster object are copies and lag.
func ClusterSettled(namespace, name string) Action {
	return Action{
		Why:     "on Rancher's own cluster, wait until every machine has applied the change",
		Command: Command("kubectl -n %s wait rkecontrolplanes.rke.cattle.io/%s --for=condition=Reconciled --timeout=%s", namespace, name, fmt.Sprintf("%dm", RolloutTime/time.Minute)),
		Shows:   true, Op: Settle{},
	}
}

// ClusterUpdated shows, on Rancher's own cluster, whether Rancher has brought the last change to a cluster of RKE.
func ClusterUpdated() Action {
	const columns = `ID:.metadata.name,NAME:.spec.displayName,UPDATED:.status.conditions[?(@.type=="Updated")].status,PROVISIONED:.status.conditions[?(@.type=="Provisioned")].status,READY:.status.conditions[?(@.type=="Ready")].status`
	return Action{
		Why:     "apply the change to Rancher; on Rancher's own cluster, the cluster must become Updated, Provisioned and Ready again",
		Command: Command("kubectl get clusters.management.cattle.io -o custom-columns=%s", columns),
		Shows:   true, Op: Settle{},
	}
}

// SecretCredential is the key of the Secrets that a cloud-provider-config refers
// to (rancher pkg/capr/planner).
const SecretCredential = "credential"

// Copy brings the Secret of a provider's configuration from Rancher's own cluster into the one that is migrated.
func Copy(c CopySecret) Action {
	return Action{
		Why: "before the edit, copy the provider's configuration from Rancher's own cluster ($RANCHER_KUBECONFIG) into the cluster, where the chart mounts it",
		Command: Command(`kubectl --kubeconfig "${RANCHER_KUBECONFIG:?}" -n %s get secret -o jsonpath='{.data.`+SecretCredential+`}' %--%s | base64 -d | kubectl -n kube-system create secret generic --from-file=%s=/dev/stdin %--%s`,
			c.Namespace, c.Name, c.Key, c.To),
		Needs: []Permission{
			{For: runs, Of: ProvisioningGroup, Rancher: true, Namespace: Home, Resource: "secrets", Verbs: []string{"get"}, Why: "only if cloud-provider-config refers to a Secret: its value, for the chart"},
			cloudConfig,
		},
		Op: c,
	}
}

// ApplyConfigMap gives Rancher's own cluster the file with a ConfigMap.
func ApplyConfigMap(file, namespace, name string) Action {
	return Action{
		Why:     "before the edit, apply the ConfigMap " + namespace + "/" + name + " to Rancher's own cluster ($RANCHER_KUBECONFIG), where the edit refers to it; plan --out writes it",
		Command: Command(`kubectl --kubeconfig "${RANCHER_KUBECONFIG:?}" apply -f %s`, Path(path.Base(file))),
		Needs:   []Permission{{For: runs, Of: ProvisioningGroup, Rancher: true, Namespace: Home, Resource: "configmaps", Verbs: []string{"create", "patch"}, Why: "only with `--leader-migration-config generate`: the configuration of kube-controller-manager"}},
		Op:      Apply{file, true},
	}
}

// Upgrade installs a chart, or brings its release to other values.
func Upgrade(h HelmUpgrade, why string) Action {
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Needs: ofHelm, Op: h}
}

// ofHelm is what helm needs for the chart, to install it and to uninstall it. A ClusterRole may be made by those alone
// who hold all that is in it, or may escalate.
var ofHelm = []Permission{
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Resource: "secrets", Verbs: []string{"get", "list", "create", "update", "patch", "delete"}, Why: "only with helm on the PATH, like those below: its records of the release, with its values"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Resource: "serviceaccounts", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: "apps", Resource: "daemonsets", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: rbac, Resource: "roles", Verbs: []string{"bind"}, Why: "the chart binds a role of the cluster"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Group: rbac, Resource: "clusterrolebindings", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Group: rbac, Resource: "clusterroles", Verbs: slices.Concat(chartVerbs, []string{"escalate", "bind"}), Why: "the chart"},
}

var chartVerbs = []string{"get", "create", "patch", "delete"}

// Args are the arguments of helm.
func (h HelmUpgrade) Args() []string {
	flags := []string{"--repo", h.Repo, "--version", h.Version, "--namespace", h.Namespace, "--values", Path(h.Values)}
	return Arguments([]string{"upgrade", "--install"}, []string{h.Release, h.Chart}, flags)
}

// Values shows the values of a release before an upgrade replaces them.
func Values(release, namespace, why string) Action {
	return Action{Why: why, Command: Command("helm get values %s --namespace %s", release, namespace), Op: HelmValues{}}
}

// Uninstall takes a release out of the cluster.
func Uninstall(h HelmUninstall, why string) Action {
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Needs: ofHelm, Op: h}
}

// Args are the arguments of helm.
func (h HelmUninstall) Args() []string {
	return Arguments([]string{"uninstall"}, []string{h.Release}, []string{"--namespace", h.Namespace})
}
