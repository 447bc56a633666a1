// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"

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

// WorkloadDone waits until a Deployment or DaemonSet runs as it is written.
func WorkloadDone(namespace, kind, name string) Action {
	return Action{Why: "after the edit, wait for the new pods", Command: Command("kubectl -n %s rollout status %--%s/%s", namespace, kind, name), Shows: true}
}

// RolledOut waits until the pods of a DaemonSet are those of its template.
func RolledOut(namespace, name, why string) Action {
	return Action{Why: why, Command: Command("kubectl -n %s rollout status daemonset/%s", namespace, name), Shows: true}
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
