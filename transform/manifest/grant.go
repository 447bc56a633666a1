// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// rbacFile is the Role and RoleBinding in a plan folder.
const rbacFile = "leader-migration-rbac.yaml"

// grantMigrationLease comes with kube-controller-manager: a Role and RoleBinding
// of their own, or the published patch where the operator wants that.
func (m *migration) grantMigrationLease() transform.Stage {
	if m.Component != kubeManager || m.Kind == kindConfiguration {
		s := stages.InOtherDocument("The permission on the migration lease is granted in the cluster, not here; the plan of the manifest of kube-controller-manager has it, for both managers.")
		s.Verify = []action.Action{m.stages().MayLock(leadermigration.CloudAccount())}
		return s
	}
	s := transform.Stage{
		Why:   " It is an object of the cluster, not a static pod: never put its file into the manifest folder of a kubelet.",
		After: []action.Action{action.ApplyFile(rbacFile, "grant both managers the permission, with the file that plan --out writes")},
		Files: func() ([]transform.File, error) {
			return []transform.File{{Name: rbacFile, Content: leadermigration.Grant(m.target.Lease())}}, nil
		},
		UndoAfter: []action.Action{action.AllGone(leadermigration.Namespace, "role,rolebinding", m.target.Lease())},
	}
	if m.target.RBAC == transform.RBACPatch {
		s.Files, s.UndoAfter = nil, nil
		s.After = []action.Action{
			action.PatchLeaderRole(kubeManager, m.target.Lease()),
			action.PatchLeaderRole(cloudManager, m.target.Lease()),
		}
	}
	return m.stages().Grant(s)
}
