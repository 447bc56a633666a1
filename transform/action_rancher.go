// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"path"

	"github.com/rke-lm/rke-lm/transform/shell"
)

// ClusterUpdated looks, on Rancher's own cluster, whether Rancher has brought the
// last change to a cluster of RKE.
type ClusterUpdated struct{ Name string }

// Purpose implements Action.
func (a ClusterUpdated) Purpose() string {
	return "apply the change to Rancher; on Rancher's own cluster, the cluster must become Updated, Provisioned and Ready again"
}

// Command implements Action.
func (ClusterUpdated) Command() string {
	const condition = `.status.conditions[?(@.type=="%s")].status`
	columns := "ID:.metadata.name,NAME:.spec.displayName"
	for _, c := range []struct{ column, condition string }{{"UPDATED", "Updated"}, {"PROVISIONED", "Provisioned"}, {"READY", "Ready"}} {
		columns += "," + c.column + ":" + fmt.Sprintf(condition, c.condition)
	}
	return shell.Line("kubectl get clusters.management.cattle.io -o custom-columns=%s", columns)
}

// SecretCredential is the key of the Secrets that a cloud-provider-config refers
// to (rancher pkg/capr/planner).
const SecretCredential = "credential"

// CopySecret brings the Secret of a provider's configuration from Rancher's own
// cluster into kube-system of the one that is migrated, as a Secret of another name
// and key.
type CopySecret struct{ Namespace, Name, To, Key string }

// Purpose implements Action.
func (CopySecret) Purpose() string {
	return "before the edit, copy the provider's configuration from Rancher's own cluster ($RANCHER_KUBECONFIG) into the cluster, where the chart mounts it"
}

// Command implements Action.
func (a CopySecret) Command() string {
	return shell.Line(`kubectl --kubeconfig "${RANCHER_KUBECONFIG:?}" -n %s get secret -o jsonpath='{.data.`+SecretCredential+`}' %--%s | base64 -d | kubectl -n kube-system create secret generic --from-file=%s=/dev/stdin %--%s`,
		a.Namespace, a.Name, a.Key, a.To)
}

// ApplyConfigMap brings a ConfigMap of the plan folder to Rancher's own cluster.
type ApplyConfigMap struct{ File, Namespace, Name string }

// Purpose implements Action.
func (a ApplyConfigMap) Purpose() string {
	return "before the edit, apply the ConfigMap " + a.Namespace + "/" + a.Name + " to Rancher's own cluster ($RANCHER_KUBECONFIG), where the edit refers to it; plan --out writes it"
}

// Command implements Action.
func (a ApplyConfigMap) Command() string {
	return shell.Line(`kubectl --kubeconfig "${RANCHER_KUBECONFIG:?}" apply -f %s`, shell.Path(path.Base(a.File)))
}
