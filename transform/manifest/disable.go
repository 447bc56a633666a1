// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	return m.stages().Disable(transform.Stage{
		Why: "Only one manager runs the cloud controllers, so the migration lease is not needed: the edit removes the flag, the configuration, its mount and its volume. " +
			"The annotation " + markKey + " records it. The permission on the lease stays, because a rollback needs it.",
		Change: transform.ChangeOf(m.Doc, m.target, m.disableEdit, m.checkDisable, m.disableUndo),
		Early:  func() bool { return !m.finished() && !m.on(leaderFlag) },
		After:  append(m.rollOut(), m.removeConfiguration()...),

		UndoBefore: m.configurationBack(),
		UndoAfter:  m.rollOut(),
	}, m.hidesSwitch())
}

// hidesSwitch reports whether the switch comes first. Its last part are the kubelets,
// whose provider is in no manifest; the flag leaves after them.
func (m *migration) hidesSwitch() bool { return !m.target.KeepLeaderMigration && m.on(leaderFlag) }

func (m *migration) disableEdit(e *yamledit.Edit) {
	if tag := m.finalTag(); tag != "" {
		m.moveTo(e, tag)
	}
	if m.target.KeepLeaderMigration || !m.on(leaderFlag) {
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

func isMark(n yamledit.Node) bool { return n.Key() == markKey }

// finalTag is the operator's, or the tested one where the target is of a later
// minor, or "" to keep the tag.
func (m *migration) finalTag() string {
	switch to := releaseOf(m.target.Version); {
	case m.target.ImageTag != "":
		return m.target.ImageTag
	case to != "" && k8s.Minor(to) > k8s.Minor(m.Version):
		return ccm.TestedTag(to)
	}
	return ""
}

func (m *migration) checkDisable(after *migration) error {
	p := promise{flags: []string{leaderFlag, configFlag}, configuration: true, mark: true, release: m.finalTag() != ""}
	if err := m.check(after, p); err != nil || m.target.KeepLeaderMigration {
		return err
	}
	return cmp.Or(transform.Require(after.finished(), "the manifest would not record that the migration is complete"), after.checkLeft())
}
