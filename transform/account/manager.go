// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
)

// Manager is what a cloud-controller-manager needs before it starts. config is the
// provider's configuration, as far as the file holds it.
func Manager(config string) transform.Preparation {
	id := ClusterID(config)
	return transform.Preparation{
		What: "add in AWS what is missing: permissions of the machines' IAM roles (" + ManagerPolicyFile + ", " + NodePolicyFile +
			") and tags " + TagPrefix + cmp.Or(id, "ID"),
		Actions: []transform.Action{ManagerRole{}, NodeRole{}, Tagged{id}, Tag{id}},
		Files: []transform.File{
			{Name: ManagerPolicyFile, Content: managerPolicy()},
			{Name: NodePolicyFile, Content: nodePolicy()},
		},
	}
}
