// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"golang.org/x/mod/semver"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
)

// The files with the chart's values, for the migration and behind it.
const (
	valuesFile      = ccm.ValuesFile
	finalValuesFile = "aws-ccm-values-final.yaml"
)

// installCCM installs the chart of the aws-cloud-controller-manager. RKE has no
// charts in its file, so the stage is made of actions alone.
func (m *migration) installCCM() transform.Stage {
	prepare := m.cloudConfigActions()
	return transform.Stage{
		Name: transform.InstallCCM,
		Why: "The cloud-controller-manager starts beside kube-controller-manager and waits for the migration lease; it initialises nodes from its first second. " +
			"Chart and image are pinned, the image's minor is the cluster's. The chart's own node selector is taken away with null, because RKE labels its control planes differently and Helm would merge the two." + m.overlapWhy(),
		Actions: append(prepare, m.helm(valuesFile, "install the chart; plan --out writes the values"), m.rollout("wait for a pod on every control plane; a rollout of no pods also counts as done, so look at DESIRED")),
		Verify:  []transform.Action{m.desired()},
		Restore: []transform.Action{
			transform.HelmUninstall{Release: ccm.ChartName, Namespace: "kube-system", Why: "take the chart out, once kube-controller-manager is in-tree again"},
			transform.Gone{Namespace: "kube-system", Kinds: "daemonset", Name: ccm.ChartName},
		},
		Files: m.installFiles,
	}
}

func (m *migration) overlapWhy() string {
	if !m.target.NoLeaderMigration {
		return ""
	}
	return " Without leader migration both managers run the cloud controllers until the switch has reached every control plane: do the two right after each other."
}

func (m *migration) helm(file, why string) transform.Action {
	o := m.chartOptions(m.Version)
	return transform.HelmUpgrade{
		Release: ccm.ChartName, Chart: ccm.ChartName, Repo: o.Repo(), Version: o.Version(), Namespace: "kube-system", Values: file, Why: why,
	}
}

func (m *migration) rollout(why string) transform.Action {
	return transform.RolloutDone{Namespace: "kube-system", DaemonSet: ccm.ChartName, Why: why}
}

func (m *migration) desired() transform.Action {
	return transform.Desired{Namespace: "kube-system", DaemonSet: ccm.ChartName, Selector: controlPlaneNodeLabel}
}

// chartOptions are the choices for the chart on a release of the cluster.
func (m *migration) chartOptions(version string) ccm.Options {
	minor := semver.MajorMinor(version)
	if newest := values.Newest(Name); semver.Compare(minor, newest) > 0 {
		minor = newest // in-tree-gone blocks the switch, but shows what it would be
	}
	return ccm.Options{
		ChartVersion: m.target.ChartVersion, ChartRepo: m.target.ChartRepo,
		ImageRepository: m.target.ImageRepository, ImageTag: m.target.ImageTag,
		Distro: Name, Minor: minor, LeaderMigration: !m.target.NoLeaderMigration,
		CloudConfig: m.cloudConfig() != "",
	}
}

// installFiles returns the chart's values, and the provider's configuration where
// the cluster has one.
func (m *migration) installFiles() ([]transform.File, error) {
	text, _ := ccm.Values(m.chartOptions(m.Version), nil)
	files := []transform.File{{Name: valuesFile, Content: text}}
	if config := m.cloudConfig(); config != "" {
		files = append(files, transform.File{Name: cloudConfigFile, Content: config})
	}
	return files, nil
}

// disableLeaderMigration brings the chart to values without the flag and to the
// image of the cluster's minor. The right to the lease stays.
func (m *migration) disableLeaderMigration() transform.Stage {
	s := transform.Stage{
		Name: transform.DisableLeaderMigration,
		Why:  "One manager is left, so the migration lease has done its work: the flag leaves the chart, and the image moves to the cluster's minor. The right to the lease stays, because a rollback needs it.",
	}
	if m.target.KeepLeaderMigration && !m.move().Planned() {
		s.Why = "Not needed here: leader migration stays on, and the image has the cluster's minor already."
		return s
	}
	s.Actions = []transform.Action{m.helm(finalValuesFile, "bring the chart to its final values; plan --out writes them"), m.rollout("wait for the new pods")}
	s.Verify = []transform.Action{m.desired()}
	s.Restore = []transform.Action{m.helm(valuesFile, "bring the chart back to the values of the migration"), m.rollout("wait for the new pods")}
	s.Files = m.finalFiles
	return s
}

func (m *migration) finalFiles() ([]transform.File, error) {
	o := m.chartOptions(m.move().Reached())
	o.LeaderMigration = m.target.KeepLeaderMigration
	if semver.MajorMinor(o.ImageTag) != o.Minor && semver.IsValid(o.ImageTag) {
		o.ImageTag = "" // the operator's tag is that of another minor
	}
	text, _ := ccm.Values(o, nil)
	return []transform.File{{Name: finalValuesFile, Content: text}}, nil
}
