// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// The managers, as a LeaderMigrationConfiguration names them and as their main
// leases are called unless an argument says otherwise.
const KubeManager, CloudManager = leadermigration.Manager, leadermigration.CloudManager

// Manager is a pod that runs kube-controller-manager or the
// cloud-controller-manager of AWS.
type Manager struct {
	Component string   `json:"component"`           // KubeManager or CloudManager
	Namespace string   `json:"namespace,omitempty"` // "" in dumps of earlier versions, for kube-system
	Pod       string   `json:"pod"`
	Node      string   `json:"node"`
	Hosts     []string `json:"hosts"` // names that its process may take for its host's
	Image     string   `json:"image"`
	Args      []string `json:"args"`              // without secrets
	Account   string   `json:"account,omitempty"` // service account, for a pod of the API server
	Running   bool     `json:"running"`
	// Container is the ID of its container, which is another one after each start; ""
	// where no kubelet has reported it yet, and in dumps of earlier versions. Ended says
	// that this container has ended.
	Container string `json:"container,omitempty"`
	Ended     bool   `json:"ended,omitempty"`
	// Mirror means that the pod shows a static one: its container may outlive it.
	Mirror   bool `json:"mirror,omitempty"`
	Restarts int  `json:"restarts"`
	// RestartedAt is when the last container ended, by the node's clock, in
	// seconds after 1970; 0 for never.
	RestartedAt int64  `json:"restartedAt,omitempty"`
	Waiting     string `json:"waiting,omitempty"` // the reason for which it does not run
	// Config is the LeaderMigrationConfiguration in a ConfigMap that it mounts;
	// nil where there is none or it lies on the node.
	Config *string `json:"config,omitempty"`
	// ConfigDenied means that the ConfigMap may not be read.
	ConfigDenied bool `json:"configDenied,omitempty"`
}

// Space is the namespace of the pod.
func (m Manager) Space() string { return cmp.Or(m.Namespace, leadermigration.Namespace) }

// Path names the pod in findings.
func (m Manager) Path() string { return m.Space() + "/pods/" + m.Pod }

// DaemonSet is one that runs the cloud-controller-manager.
type DaemonSet struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Image     string   `json:"image"`
	Args      []string `json:"args"`
	Observed  bool     `json:"observed"` // its last generation
	Desired   int      `json:"desired"`
	Updated   int      `json:"updated"`
	Ready     int      `json:"ready"`
}
