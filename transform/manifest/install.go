// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/account"
	"github.com/rke-lm/rke-lm/transform/procedure"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// installCCM lets the cloud-controller-manager of a manifest take part in the
// migration, from its first start on.
func (m *migration) installCCM() transform.Stage {
	switch {
	case m.isExternal():
		s := elsewhere(stages.InstallCCM, procedure.InstallElsewhere+"Its own manifest is a document of its own, so plan that one as well, or look.", procedure.LookForManager()...)
		s.NotInFile = m.isExternal
		return s
	case m.Component != cloudManager:
		return elsewhere(stages.InstallCCM, "The cloud-controller-manager starts beside kube-controller-manager and waits for the migration lease; its own manifest gets the flag, so plan that one as well.",
			transform.PodsRunning{Namespace: "kube-system", Component: cloudManager, Why: "a cloud-controller-manager must run on every control-plane node before the switch"})
	}
	return transform.Stage{
		Name: stages.InstallCCM,
		Why: procedure.InstallWhy +
			"A manifest without the flag looks the same before and after a migration, so a finished one carries an annotation." + m.configurationWhy() + procedure.Overlap(m.target, "start this one and switch the other in one change"),
		SupersededBy: []string{stages.DisableLeaderMigration},
		Prepare:      m.preparation(),
		Edit:         m.installEdit,
		Check:        transform.CheckBy(m.checkInstall),
		Undo:         m.joinUndo,
		Before:       m.configurationActions(),
		After:        m.rollOut(),
		Verify:       []transform.Action{transform.PodsRunning{Namespace: "kube-system", Component: cloudManager, Why: "a pod must run on every control-plane node"}},
		UndoBefore:   []transform.Action{m.takeDown()},
		UndoAfter:    m.holder(procedure.LeaseReturns),
		Withdrawn:    true,
		Files:        m.configurationFiles,
	}
}

// preparation is what the manager of AWS needs; others have their own.
func (m *migration) preparation() transform.Preparation {
	if !m.isAWS() {
		return transform.Preparation{}
	}
	return account.Manager("")
}

func (m *migration) installEdit() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.target.NoLeaderMigration || m.finished() && !m.on(leaderFlag) {
		return e, nil
	}
	return e, m.join(e)
}

func (m *migration) checkInstall(after *migration) error {
	if err := m.check(after, promise{flags: []string{leaderFlag, configFlag}, configuration: true}); err != nil {
		return err
	}
	return after.checkJoined()
}
