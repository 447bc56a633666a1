// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"path"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	providerFlag = "cloud-provider"
	inTree       = aws.Name
	external     = "external"
	leaderFlag   = leadermigration.Flag
	configFlag   = leadermigration.ConfigFlag
)

// rbacFile is the Role and RoleBinding in a plan folder.
const rbacFile = "leader-migration-rbac.yaml"

// grantMigrationLease comes with kube-controller-manager: a Role and RoleBinding
// of their own, or the published patch where the operator wants that.
func (m *migration) grantMigrationLease() transform.Stage {
	if m.Component != kubeManager || m.Kind == kindConfiguration {
		s := stages.InOtherDocument("The permission on the migration lease is granted in the cluster, not here; the plan of the manifest of kube-controller-manager has it, for both managers.")
		s.Verify = []action.Action{m.MayLock(leadermigration.CloudAccount())}
		return s
	}
	s := transform.Stage{
		Why:   " It is an object of the cluster, not a static pod: never put its file into the manifest folder of a kubelet.",
		After: []action.Action{action.ApplyFile(rbacFile, "grant both managers the permission, with the file that plan --out writes")},
		Files: func() ([]action.File, error) {
			return []action.File{{Name: rbacFile, Content: leadermigration.Grant(m.Target.Lease())}}, nil
		},
		UndoAfter: []action.Action{action.AllRemoved(leadermigration.Namespace, "role,rolebinding", m.Target.Lease())},
	}
	if m.Target.RBAC == transform.RBACPatch {
		s.Files, s.UndoAfter = nil, nil
		s.After = []action.Action{action.PatchLeaderRole(kubeManager, m.Target.Lease()), action.PatchLeaderRole(cloudManager, m.Target.Lease())}
	}
	return m.Grant(s)
}

// join lets the manager take part in the migration: the flag, and where one is
// wanted the configuration with its volume and its mount.
func (m *migration) join(e *yamledit.Edit) {
	u := args.Update{Set: []args.Arg{args.On(leaderFlag)}}
	file := m.configured()
	if m.configures() {
		u.Set = append(u.Set, args.With(configFlag, file))
	}
	u.Set = append(u.Set, m.timings()...)
	m.arguments.Apply(e, u)
	if m.configures() && !m.mounted(file) {
		m.mount(e, file)
	}
}

// short are the timings of short leases for the manager, and timings those that it lacks where it gets them.
func (m *Manifest) short() []args.Arg {
	if m.Component == cloudManager {
		return leadermigration.CloudTimings()
	}
	return leadermigration.KubeTimings()
}

func (m *migration) timings() []args.Arg {
	return leadermigration.Missing(m.Target.ShortLeases, m.arguments.List(), m.short())
}

// configures reports whether a configuration of its own travels with the manager.
func (m *migration) configures() bool {
	return m.Target.LeaderMigrationConfig == transform.ConfigGenerate
}

// configured is the path of the configuration: that of the flag, or the one of the
// published procedure. Both managers may run on one node, and where they have
// other names of the controllers each needs a file of its own.
func (m *migration) configured() string {
	if a, found := m.flag(configFlag); found && path.IsAbs(a.Value) {
		return a.Value
	}
	if !leadermigration.SameNames(m.Version, k8s.FirstMigrates) {
		return "/etc/" + m.Component + "-" + configFile
	}
	return "/etc/" + configFile
}

// leave takes the manager out of the migration, regardless of how it joined.
func (m *migration) leave(e *yamledit.Edit, also args.Update) {
	also.Remove = append(append(also.Remove, leaderFlag, configFlag), leadermigration.LeavingTimings(m.arguments.List())...)
	if _, found := m.flag(configFlag); found {
		m.unmount(e, m.configured())
	}
	m.arguments.Apply(e, also)
}

// enableLeaderMigration gives kube-controller-manager the flag.
func (m *migration) enableLeaderMigration() transform.Stage {
	switch {
	case m.Component != kubeManager:
		return stages.InOtherDocument("The manifest of kube-controller-manager gets the flag first, before this one changes.")
	case m.isExternal() && !m.showsMigration():
		s := stages.InOtherDocument("The switch removes the flag from kube-controller-manager, so its manifest does not show whether it had one.")
		s.NotInFile = m.isExternal
		return s
	}
	return m.Enable(transform.Stage{
		Why:    " One control-plane node at a time: a manager that restarts gives its leadership away." + m.configurationWhy(),
		Change: transform.ChangeOf(m.Doc, m.Target, m.enableEdit, m.checkJoin, m.joinUndo),
		Before: m.configurationActions(),
		After:  m.rollOut(),
		Files:  m.configurationFiles,

		UndoAfter: m.rollOut(),
	})
}

func (m *migration) enableEdit(e *yamledit.Edit) {
	if !m.isExternal() {
		m.join(e)
	}
}

// showsMigration reports whether the documents have what only leader migration leaves.
func (m *migration) showsMigration() bool {
	return leadermigration.Granted(m.related, m.Target.Lease()) || slices.ContainsFunc(m.members, func(o *migration) bool { return o.on(leaderFlag) || o.finished() })
}

// isExternal reports whether kube-controller-manager runs no cloud controllers.
func (m *Manifest) isExternal() bool {
	name, _ := m.provider()
	return m.Component == kubeManager && name == external
}

// joining are the flags with which a manager takes part in the migration.
func joining() []string {
	return append([]string{leaderFlag, configFlag}, leadermigration.TimingFlags()...)
}

// checkJoin requires the flag, and the configuration where the container sees
// it; nothing else changes.
func (m *migration) checkJoin(after *migration) error {
	return cmp.Or(m.check(after, promise{flags: joining(), configuration: true}), after.checkJoined())
}

// installCCM lets the cloud-controller-manager of a manifest take part in the
// migration, from its first start on.
func (m *migration) installCCM() transform.Stage {
	switch {
	case m.isExternal():
		return m.InstalledNotInFile(transform.Stage{Why: "Its manifest is another document: plan that one as well, or check the cluster.", NotInFile: m.isExternal})
	case m.Component != cloudManager:
		return stages.InOtherDocument("The cloud-controller-manager starts in addition to kube-controller-manager and waits for the migration lease; its own manifest gets the flag, so plan that one as well.",
			action.PodsRunning("kube-system", cloudManager, "a cloud-controller-manager must run on every control-plane node before the switch"))
	}
	return m.Install(transform.Stage{
		Why:        "A manifest without the flag is the same before and after a migration, so a complete one has an annotation." + m.configurationWhy(),
		Prepare:    m.preparation(),
		Change:     transform.ChangeOf(m.Doc, m.Target, m.installEdit, m.checkJoin, m.joinUndo),
		Before:     m.configurationActions(),
		After:      m.rollOut(),
		UndoBefore: []action.Action{m.removeManager()},
		Withdrawn:  true,
		Files:      m.configurationFiles,
	}, "start this one and switch the other one in one change")
}

// preparation is what the manager of AWS needs; others have their own.
func (m *migration) preparation() action.Preparation {
	if !m.ofProvider() {
		return action.Preparation{}
	}
	return aws.ManagerNeeds("")
}

func (m *migration) installEdit(e *yamledit.Edit) {
	if !m.Target.NoLeaderMigration && (!m.finished() || m.on(leaderFlag)) {
		m.join(e)
	}
}

const (
	// markKey and markValue state on a cloud-controller-manager's manifest that its
	// migration is complete.
	markKey   = "rke-lm.io/leader-migration"
	markValue = "finished"
)

// disableLeaderMigration takes the cloud-controller-manager out of the migration,
// with its configuration, and moves its image to the target's minor.
func (m *migration) disableLeaderMigration() transform.Stage {
	if m.Component != cloudManager {
		return stages.InOtherDocument("The switch removed leader migration from kube-controller-manager; the manifest of the cloud-controller-manager removes it there.")
	}
	return m.Disable(transform.Stage{
		Why: "Only one manager runs the cloud controllers, so the migration lease is not needed: the edit removes the flag, the configuration, its mount and its volume. " +
			"The annotation " + markKey + " records it. The permission on the lease stays, because a rollback needs it.",
		Change: transform.ChangeOf(m.Doc, m.Target, m.disableEdit, m.checkDisable, m.disableUndo),
		Early:  func() bool { return !m.finished() && !m.on(leaderFlag) },
		// The last part of the switch, which comes first, are the kubelets, whose provider is in no manifest.
		AfterManual: lists.If(!m.Target.KeepLeaderMigration && m.on(leaderFlag), rules.TheSwitch...),
		After:       append(m.rollOut(), m.removeConfiguration()...),

		UndoBefore: m.configurationBack(),
		UndoAfter:  m.rollOut(),
	})
}

func (m *migration) disableEdit(e *yamledit.Edit) {
	if tag := m.finalTag(); tag != "" {
		m.moveTo(e, tag)
	}
	if m.Target.KeepLeaderMigration || !m.on(leaderFlag) {
		return
	}
	if !m.finished() {
		e.Put(m.Root, markValue, "metadata", "annotations", markKey)
	}
	m.leave(e, args.Update{})
}

// finished reports whether the manifest states that its migration is complete.
func (m *Manifest) finished() bool {
	return m.Root.StringAt("metadata", "annotations", markKey) == markValue
}

// finalTag is the operator's, or the tested one where the target is of a later
// minor, or "" to keep the tag.
func (m *migration) finalTag() string {
	switch to := releaseOf(m.Target.Version); {
	case m.Target.ImageTag != "":
		return m.Target.ImageTag
	case to != "" && k8s.Minor(to) > k8s.Minor(m.Version):
		return ccm.TestedTag(to)
	}
	return ""
}

func (m *migration) checkDisable(after *migration) error {
	p := promise{flags: []string{leaderFlag, configFlag}, configuration: true, mark: true, release: m.finalTag() != ""}
	if err := m.check(after, p); err != nil || m.Target.KeepLeaderMigration {
		return err
	}
	return cmp.Or(transform.Require(after.finished(), "the manifest would not record that the migration is complete"), after.checkLeft())
}
