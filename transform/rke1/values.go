// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// withValues adds the file to the documents of a cluster.
func withValues(docs []*yamledit.Document, file *yamledit.Document) ([]*yamledit.Document, error) {
	if IsCluster(file) {
		return nil, file.Root().Errorf("this is the configuration of a cluster, and no values file", "name the file that helm reads with --values")
	}
	return append(slices.Clone(docs), file), ccm.CheckValues(file)
}

// isValues reports whether a document is such a file, and not one of RKE.
func isValues(doc *yamledit.Document) bool { return !IsCluster(doc) && ccm.CheckValues(doc) == nil }

// checkOneManager refuses a chart next to a manager that addons run.
func (m *migration) checkOneManager() error {
	values := m.Target.Values
	if m.file != nil {
		values = m.file.Root.Document()
	}
	if values == nil || !m.runsManager() {
		return nil
	}
	return m.get(addonsKey).Errorf("a cloud-controller-manager is among the addons, and "+values.File()+" has the values for another one", "remove --ccm-values, or the manager from the addons")
}

// Manager implements transform.Cluster.
func (m *migration) Manager() yamledit.Node {
	switch {
	case m.file != nil:
		return m.file.Root
	case m.runsManager():
		return m.get(addonsKey)
	}
	return yamledit.Node{}
}

// finalTag returns the image tag that the chart has to have at the end, or "" to keep the one it
// has.
func (m *migration) finalTag() string {
	return m.file.FinalTag(m.Target, Name, semver.MajorMinor(m.Version))
}

// oldImage reports whether the file has an image of an earlier minor.
func (m *migration) oldImage() bool { return m.file != nil && m.finalTag() != "" }

// chartNodes returns what the scheduler sees of the control planes. RKE gives those that the file
// does not list the same labels and taints.
func (m *migration) chartNodes() []ccm.NodeClass {
	if classes := m.controlPlaneNodes(); len(classes) > 0 {
		return classes
	}
	return []ccm.NodeClass{nodeClass(node{Role: []string{controlPlaneRole, "etcd"}})}
}

// valuesFinding returns a finding about the value at a path, or about the file where it has none.
func (m *migration) valuesFinding(message, fix string, path ...string) transform.Finding {
	at := m.file.Root
	for i := range path {
		at = yamledit.First(m.file.Root.Get(path[:i+1]...), at)
	}
	return transform.FindingAt(at, message, fix)
}

// valuesFor returns the values with which helm installs the chart: those for the cluster's minor,
// or a copy of the operator's own file with what the options require, and with another edit if there is one.
func (m *migration) valuesFor(o ccm.Options, then func(ccm.Chart, *yamledit.Edit)) (string, error) {
	if m.Target.Values == nil {
		text, _ := ccm.Values(o, m.controlPlaneNodes())
		return text, nil
	}
	doc, err := m.completed(o)
	if err == nil && then != nil {
		doc, err = edited(doc, then)
	}
	if err != nil {
		return "", err
	}
	return string(doc.Bytes()), nil
}

// completed is the operator's own file with what the options require.
func (m *migration) completed(o ccm.Options) (*yamledit.Document, error) {
	return edited(m.Target.Values, func(c ccm.Chart, e *yamledit.Edit) { c.CompleteValues(e, o, m.chartNodes()) })
}

// edited is a values file after an edit.
func edited(values *yamledit.Document, queue func(ccm.Chart, *yamledit.Edit)) (*yamledit.Document, error) {
	chart, err := ccm.FromValues(values.Root())
	if err != nil {
		return nil, err
	}
	e := values.Edit()
	queue(chart, e)
	after, _, err := e.Apply()
	return after, err
}

// copyWhy says what becomes of the operator's own file.
func (m *migration) copyWhy() string {
	if m.Target.Values == nil {
		return ""
	}
	return " helm gets a copy of " + m.Target.Values.File() + " with what the stage requires: put the same into the file, or the next upgrade of the release reverts it; plan --cluster with --out writes the copy."
}

// checkOwnValues refuses a file of the operator that cannot be completed, before a stage needs it.
func (m *migration) checkOwnValues() error {
	if m.Target.Values == nil {
		return nil
	}
	_, err := m.completed(m.chartOptions(m.Version))
	return err
}

// installByValues completes the values file, with which the operator installs the chart.
func (m *migration) installByValues() transform.Stage {
	return m.Install(transform.Stage{
		Why: "The edit adds to the values file what the migration requires and keeps everything else; helm then installs the chart, or upgrades its release, with that file. " +
			"The chart is pinned, and the image has the minor version of the cluster.",
		Prepare:    aws.ManagerNeeds(m.cloudConfig()),
		Change:     transform.ChangeOf(m.file.Root.Document(), m.Target, m.completeValues, m.checkCompleted, m.uncompleteValues),
		Before:     append(m.cloudConfigActions(), m.configActions()...),
		After:      []action.Action{m.helmWithValues("install the chart with the values file"), stages.FirstRollout("")},
		UndoBefore: m.uninstalled(),
		Withdrawn:  true,
		Files:      m.mountedFiles,
	}, "do the two immediately after each other")
}

// helmWithValues installs or upgrades the release with the file as it is.
func (m *migration) helmWithValues(why string) action.Action {
	return m.helm(m.file.Root.Document().File(), why)
}

func (m *migration) completeValues(e *yamledit.Edit) {
	if m.isExternal() && m.Target.Situation != transform.Broken && !m.file.Migrates() {
		return // it has left the migration, or never took part
	}
	if !m.Target.Situation.HasInTreeProvider() {
		m.file.StopMigrating(ccm.Edits{File: e}, m.finalTag(), false)
	}
	m.file.CompleteValues(e, m.chartOptions(m.Version), m.chartNodes())
}

// checkCompleted requires that RKE reads the same, and that the chart takes part in the migration
// and has a pod on every control plane.
func (m *migration) checkCompleted(after *migration) error {
	return cmp.Or(m.check(after, nothing), after.file.CheckJoined(m.chartOptions(m.Version), after.chartNodes()))
}

// nothing is the promise of a stage that changes nothing that RKE reads.
func nothing(string, any, any) bool { return false }

// uncompleteValues takes the chart out of a migration that has not begun. What else the stage
// added does not show.
func (m *migration) uncompleteValues(e *transform.Reverse) {
	if !m.file.Migrates() {
		return
	}
	at := m.file.Root.Get("args")
	e.Usual(at, "the other values of the chart existed before or were added by the stage")
	if m.file.HasShortLeases() {
		for _, a := range leadermigration.CloudTimings() {
			args.Remove(e.Edit, at, a.Name)
		}
	}
	m.file.StopMigrating(ccm.Edits{File: e.Edit}, "", false)
}

// disableByValues takes the chart out of the migration.
func (m *migration) disableByValues() transform.Stage {
	leave := func(e *yamledit.Edit) {
		m.file.StopMigrating(ccm.Edits{File: e}, m.finalTag(), m.Target.KeepLeaderMigration)
	}
	s := transform.Stage{
		Why:    m.DisableWhy(),
		Change: transform.ChangeOf(m.file.Root.Document(), m.Target, leave, m.checkLeft, m.rejoinMigration),
		Early:  func() bool { return !m.isExternal() },
		After:  []action.Action{m.helmWithValues("upgrade the release with the values file"), stages.Rollout("wait for the new pods")},
	}
	s.After = append(s.After, m.dropConfig()...)
	s.UndoAfter = append(m.configActions(), m.helmWithValues("roll the release back to the values of the migration"), stages.Rollout("wait for the new pods"))
	return m.Disable(s)
}

func (m *migration) checkLeft(after *migration) error {
	if err := m.check(after, nothing); err != nil || m.Target.KeepLeaderMigration {
		return err
	}
	return after.file.CheckLeft()
}

// rejoinMigration gives the chart its flag back. The image stays: it is the one of the cluster's
// minor.
func (m *migration) rejoinMigration(e *transform.Reverse) {
	chart := m.file
	if !m.isExternal() || chart.Migrates() && !m.Target.KeepLeaderMigration {
		return
	}
	root := m.file.Root
	if k8s.From(m.Version, "v1.28") {
		e.Fail(transform.Lost(root, "at Kubernetes "+semver.MajorMinor(m.Version)[1:]+" no manager takes part in a migration, so the stage changed the image alone, and the file does not show its earlier tag"))
	}
	o := m.chartOptions(m.Version)
	o.CloudConfig = args.Has(chart.Args(), "cloud-config")
	if m.Target.Version == m.Version || !m.writtenByUs(o) {
		e.Usual(root, "the image was this one or that of another release, and the flag was at an unknown place among the arguments")
	}
	if chart.Migrates() {
		return // it was to keep the flag
	}
	chart.StartMigrating(ccm.Edits{File: e.Edit}, o)
}

// writtenByUs reports whether the file has the values that a plan folder has, but for the flag.
func (m *migration) writtenByUs(o ccm.Options) bool {
	o.LeaderMigration, o.MigrationConfig = m.file.Migrates(), m.file.OwnConfig()
	text, known := ccm.Values(o, m.controlPlaneNodes())
	ours, err := yamledit.ParseString(valuesFile, text)
	return known && err == nil && yamledit.Same(ours.Root().Value(), m.file.Root.Value())
}

// upgradeByValues moves the image of the chart to the cluster's minor.
func (m *migration) upgradeByValues() transform.Stage {
	raise := func(e *yamledit.Edit) { m.file.StopMigrating(ccm.Edits{File: e}, m.finalTag(), true) }
	return m.UpgradedCCM(transform.Stage{
		Change: transform.ChangeOf(m.file.Root.Document(), m.Target, raise, m.checkImage, nil),
		After:  []action.Action{m.helmWithValues("upgrade the release with the values file"), stages.Rollout("wait for the new pods")},
	})
}

func (m *migration) checkImage(after *migration) error {
	return cmp.Or(m.check(after, nothing),
		transform.Require(after.finalTag() == "", "the image would be %s on Kubernetes %s", after.file.ImageTag(), semver.MajorMinor(m.Version)[1:]))
}
