// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"path"
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
