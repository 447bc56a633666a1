// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package account

import "github.com/rke-lm/rke-lm/transform/shell"

// ManagerRole gives the role of the control planes the rights of the
// cloud-controller-manager; it keeps those that it has.
type ManagerRole struct{}

// Purpose implements transform.Action.
func (ManagerRole) Purpose() string {
	return "the IAM role of the control planes has the permissions in " + ManagerPolicyFile
}

// Command implements transform.Action.
func (ManagerRole) Command() string {
	return shell.Line(`aws iam put-role-policy --role-name "${CONTROL_PLANE_ROLE:?set it to the IAM role of the control planes}" --policy-name aws-cloud-controller-manager --policy-document file://%s`, ManagerPolicyFile)
}

// NodeRole gives the role of the other machines theirs.
type NodeRole struct{}

// Purpose implements transform.Action.
func (NodeRole) Purpose() string {
	return "the IAM role of the other nodes has the permissions in " + NodePolicyFile
}

// Command implements transform.Action.
func (NodeRole) Command() string {
	return shell.Line(`aws iam put-role-policy --role-name "${NODE_ROLE:?set it to the IAM role of the other nodes}" --policy-name kubernetes-node --policy-document file://%s`, NodePolicyFile)
}
