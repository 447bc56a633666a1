// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// managerRole gives the role of the control planes the rights of the cloud-controller-manager, and nodeRole that of the
// other machines theirs; both keep those that they have.
func managerRole() action.Action {
	return action.Action{
		Why:     "the IAM role of the control planes has the permissions in " + ManagerPolicyFile,
		Command: shell.Line(`aws iam put-role-policy --role-name "${CONTROL_PLANE_ROLE:?set it to the IAM role of the control planes}" --policy-name aws-cloud-controller-manager --policy-document file://%s`, ManagerPolicyFile),
	}
}

func nodeRole() action.Action {
	return action.Action{
		Why:     "the IAM role of the other nodes has the permissions in " + NodePolicyFile,
		Command: shell.Line(`aws iam put-role-policy --role-name "${NODE_ROLE:?set it to the IAM role of the other nodes}" --policy-name kubernetes-node --policy-document file://%s`, NodePolicyFile),
	}
}

// Manager is what a cloud-controller-manager needs before it starts. config is the
// provider's configuration, as far as the file holds it.
func Manager(config string) transform.Preparation {
	id := ClusterID(config)
	return transform.Preparation{
		What: "add in AWS what is missing: permissions of the machines' IAM roles (" + ManagerPolicyFile + ", " + NodePolicyFile +
			") and tags " + TagPrefix + cmp.Or(id, "ID"),
		Actions: []action.Action{managerRole(), nodeRole(), Tagged(id), Tag(id)},
		Files: []transform.File{
			{Name: ManagerPolicyFile, Content: managerPolicy()},
			{Name: NodePolicyFile, Content: nodePolicy()},
		},
	}
}
