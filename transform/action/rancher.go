// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"path"
	"slices"
	"time"
)

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
