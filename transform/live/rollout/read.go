// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/lists"
)

func conditionsOf(list []Condition) map[string]Condition {
	out := map[string]Condition{}
	for _, c := range list {
		out[c.Type] = c
	}
	return out
}

// ReadControlPlane reads the JSON of an RKEControlPlane.
func ReadControlPlane(raw []byte) (*ControlPlane, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     map[string]any    `json:"spec"`
		Status   struct {
			Observed   int64          `json:"observedGeneration"`
			Applied    map[string]any `json:"appliedSpec"`
			Conditions []Condition    `json:"conditions"`
			Phase      string         `json:"etcdSnapshotCreatePhase"`
			Snapshot   struct {
				Generation int64 `json:"generation"`
			} `json:"etcdSnapshotCreate"`
		} `json:"status"`
	}
	if err := decode(raw, "RKEControlPlane", &o); err != nil {
		return nil, err
	}
	return &ControlPlane{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name,
		Generation: o.Metadata.Generation, Observed: o.Status.Observed,
		Spec: o.Spec, Applied: o.Status.Applied, Conditions: conditionsOf(o.Status.Conditions),
		SnapshotGeneration: o.Status.Snapshot.Generation, SnapshotPhase: o.Status.Phase,
	}, nil
}

// ReadMachine reads the JSON of a Machine of Cluster API; its plan is in a Secret
// of its own.
func ReadMachine(raw []byte) (Machine, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Bootstrap struct {
				Config corev1.ObjectReference `json:"configRef"`
			} `json:"bootstrap"`
			ProviderID     string                 `json:"providerID"`
			Infrastructure corev1.ObjectReference `json:"infrastructureRef"`
		} `json:"spec"`
		Status struct {
			Node       corev1.ObjectReference `json:"nodeRef"`
			Conditions []Condition            `json:"conditions"`
			Addresses  []corev1.NodeAddress   `json:"addresses"`
		} `json:"status"`
	}
	err := decode(raw, "Machine", &o)
	m := Machine{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Labels: o.Metadata.Labels, Node: o.Status.Node.Name, Deleting: o.Metadata.DeletionTimestamp != nil,
		ProviderID: o.Spec.ProviderID, Infrastructure: o.Spec.Infrastructure,
	}
	healthy := conditionsOf(o.Status.Conditions)["NodeHealthy"] // cluster-api internal/controllers/machine/machine_controller_noderef.go
	m.Unlinked = m.Node == "" || healthy.Status == "False" && (healthy.Reason == "NodeNotFound" || healthy.Reason == "NodeDeleted")
	internal, _ := lists.Find(o.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	m.Address = internal.Address
	if c := o.Spec.Bootstrap.Config; c.Kind == "RKEBootstrap" && c.Name != "" {
		m.PlanSecret = planSecret(c.Name)
	}
	return m, err
}

// ReadEngine reads the JSON of a cluster of management.cattle.io.
func ReadEngine(raw []byte) (*Engine, error) {
	type spec struct {
		Config map[string]any `json:"rancherKubernetesEngineConfig"`
	}
	var o struct {
		Spec   spec `json:"spec"`
		Status struct {
			Applied    spec        `json:"appliedSpec"`
			Failed     spec        `json:"failedSpec"`
			Conditions []Condition `json:"conditions"`
		} `json:"status"`
	}
	err := decode(raw, "Cluster", &o)
	return &Engine{Spec: o.Spec.Config, Applied: o.Status.Applied.Config, Failed: o.Status.Failed.Config, Conditions: conditionsOf(o.Status.Conditions)}, err
}

// decode says nothing of what an object holds: it may be a secret.
func decode(raw []byte, kind string, into any) error {
	if json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("the %s has fields of unexpected types", kind)
	}
	return nil
}
