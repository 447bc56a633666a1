// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// installCCM lets the cloud-controller-manager of a manifest take part in the
// migration, from its first start on.
func (m *migration) installCCM() transform.Stage {
	switch {
	case m.isExternal():
		return m.stages().InstalledNotInFile(transform.Stage{Why: "Its manifest is another document: plan that one as well, or check the cluster.", NotInFile: m.isExternal})
	case m.Component != cloudManager:
		return stages.InOtherDocument("The cloud-controller-manager starts in addition to kube-controller-manager and waits for the migration lease; its own manifest gets the flag, so plan that one as well.",
			action.PodsRunning("kube-system", cloudManager, "a cloud-controller-manager must run on every control-plane node before the switch"))
	}
	return m.stages().Install(transform.Stage{
		Why:        "A manifest without the flag is the same before and after a migration, so a complete one has an annotation." + m.configurationWhy(),
		Prepare:    m.preparation(),
		Change:     transform.ChangeOf(m.Doc, m.target, m.installEdit, m.checkJoin, m.joinUndo),
		Before:     m.configurationActions(),
		After:      m.rollOut(),
		UndoBefore: []action.Action{m.removeManager()},
		Withdrawn:  true,
		Files:      m.configurationFiles,
	}, "start this one and switch the other one in one change")
}

// preparation is what the manager of AWS needs; others have their own.
func (m *migration) preparation() action.Preparation {
	if !m.isAWS() {
		return action.Preparation{}
	}
	return aws.ManagerNeeds("")
}

func (m *migration) installEdit(e *yamledit.Edit) {
	if !m.target.NoLeaderMigration && (!m.finished() || m.on(leaderFlag)) {
		m.join(e)
	}
}

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
		Files: func() ([]action.File, error) {
			return []action.File{{Name: rbacFile, Content: leadermigration.Grant(m.target.Lease())}}, nil
		},
		UndoAfter: []action.Action{action.AllRemoved(leadermigration.Namespace, "role,rolebinding", m.target.Lease())},
	}
	if m.target.RBAC == transform.RBACPatch {
		s.Files, s.UndoAfter = nil, nil
		s.After = []action.Action{action.PatchLeaderRole(kubeManager, m.target.Lease()), action.PatchLeaderRole(cloudManager, m.target.Lease())}
	}
	return m.stages().Grant(s)
}
