// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package aws holds what is only true of AWS: what documents and clusters call the provider and
// what belongs to it, the IDs of instances, the words of its errors, and what a cluster needs in its
// account before stages of a migration (rights of its machines, tags of its resources,
// credentials for ECR).
//
// Invariant: what an account needs is done by hand. The commands look first where they can, add
// and never take away, and name no value that the cluster's file does not show:
// the shell refuses a command whose variables are not set.
package aws

import (
	"cmp"
	_ "embed"

	"github.com/rke-lm/rke-lm/transform/action"
)

// ManagerNeeds is what a cloud-controller-manager needs before it starts. config is the
// provider's configuration, as far as the file holds it.
func ManagerNeeds(config string) action.Preparation {
	id := clusterID(config)
	return action.Preparation{
		What: "add in AWS what is missing: permissions of the machines' IAM roles (" + ManagerPolicyFile + ", " + NodePolicyFile +
			") and tags " + TagPrefix + cmp.Or(id, "ID"),
		Actions: []action.Action{{ // a policy is added to a role, which keeps those that it has
			Why:     "the IAM role of the control planes has the permissions in " + ManagerPolicyFile,
			Command: action.Command(`aws iam put-role-policy --role-name "${CONTROL_PLANE_ROLE:?set it to the IAM role of the control planes}" --policy-name aws-cloud-controller-manager --policy-document file://%s`, ManagerPolicyFile),
		}, {
			Why:     "the IAM role of the other nodes has the permissions in " + NodePolicyFile,
			Command: action.Command(`aws iam put-role-policy --role-name "${NODE_ROLE:?set it to the IAM role of the other nodes}" --policy-name kubernetes-node --policy-document file://%s`, NodePolicyFile),
		}, Tagged(id), Tag(id)},
		Files: []action.File{
			{Name: ManagerPolicyFile, Content: managerPolicy},
			{Name: NodePolicyFile, Content: nodePolicy},
		},
	}
}

// The policies in a plan folder, which are the same for every cluster.
const (
	ManagerPolicyFile = "aws-ccm-policy.json"
	NodePolicyFile    = "aws-node-policy.json"
)

// managerPolicy has what the controllers of the cloud-controller-manager ask AWS
// for: the calls of cloud-provider-aws pkg/providers/v1 at v1.27.2 and of
// docs/prerequisites.md at v1.26.6 and v1.27.2, without those for volumes, which
// are the EBS CSI driver's.
//
//go:embed aws-ccm-policy.json
var managerPolicy string

// nodePolicy has what every machine needs: what a kubelet and its credential provider
// for ECR ask for.
//
//go:embed aws-node-policy.json
var nodePolicy string
