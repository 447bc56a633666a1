// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The files with the chart's values, for the migration and after it.
const (
	valuesFile      = ccm.ValuesFile
	finalValuesFile = aws.Values + "-final.yaml"
)

// installCCM installs the chart of the aws-cloud-controller-manager. RKE has no
// charts in its file, so without a values file the stage is made of actions alone.
func (m *migration) installCCM() transform.Stage {
	if m.file != nil {
		return m.installByValues()
	}
	prepare := append(m.cloudConfigActions(), m.configActions()...)
	s := transform.Stage{
		Why:       "Chart and image are pinned, and the image has the minor version of the cluster. null removes the chart's own node selector, because RKE labels its control planes differently and Helm would merge the two." + m.copyWhy(),
		After:     slices.Concat(prepare, m.helmOver(valuesFile, "install the chart; plan --out writes the values"), []action.Action{stages.FirstRollout("")}),
		UndoAfter: m.uninstalled(),
		Files:     m.installFiles,
		NotInFile: m.lacksManager,
	}
	if m.lacksManager() {
		s.Why = "RKE has no charts in its file. Check the cluster first; the commands after that install the chart, and are for a cluster without one."
		return m.InstalledNotInFile(s)
	}
	s.Prepare, s.Uncounted = aws.ManagerNeeds(m.cloudConfig()), m.runsManager() // the file shows one
	return m.Install(s, "do the two immediately after each other")
}

// uninstalled takes the release out of the cluster.
func (m *migration) uninstalled() []action.Action {
	return []action.Action{
		action.Uninstall(action.HelmUninstall{Release: ccm.ChartName, Namespace: "kube-system"}, "uninstall the chart, once kube-controller-manager is in-tree again"),
		action.AllRemoved("kube-system", "daemonset", ccm.ChartName),
	}
}

// lacksManager reports whether the cluster is external and no
// cloud-controller-manager is in its documents: the chart never is in that of RKE. In a broken
// cluster it comes after the switch.
func (m *migration) lacksManager() bool {
	return m.isExternal() && !m.Manager().Exists() && m.Target.Situation != transform.Broken
}

// runsManager reports whether addons run a cloud-controller-manager, or cannot be
// read.
func (m *migration) runsManager() bool {
	docs, err := m.Bundle().Documents()
	_, found := ccm.FindWorkload(docs)
	return found || err != nil
}

// helmOver installs or upgrades the release with values that the plan has made. Without a values file
// of the operator, a person first compares them with those of the release.
func (m *migration) helmOver(file, why string) []action.Action {
	upgrade := m.helm(file, why)
	if m.Target.Values != nil {
		return []action.Action{upgrade}
	}
	return []action.Action{
		action.Values(ccm.ChartName, "kube-system", "the answer must be that the release is not found, or values that the next command keeps: it replaces all of them. If not, plan with --ccm-values. If it has --leader-elect-lease-duration=8s, plan with --short-leases, and without it otherwise: pods with other timings could lead at the same time"),
		upgrade,
	}
}

func (m *migration) helm(file, why string) action.Action {
	o := m.chartOptions(m.Version)
	return action.Upgrade(action.HelmUpgrade{
		Release: ccm.ChartName, Chart: ccm.ChartName, Repo: o.Repo(), Version: o.Version(), Namespace: "kube-system", Values: file,
	}, why)
}

func (m *migration) chartOptions(version string) ccm.Options {
	o := ccm.OptionsFor(m.Target, Name, version, m.cloudConfig() != "")
	o.MigrationConfig = m.configured()
	return o
}

// installFiles returns the chart's values, and what it mounts.
func (m *migration) installFiles() ([]action.File, error) {
	text, err := m.valuesFor(m.chartOptions(m.Version), nil)
	if err != nil {
		return nil, err
	}
	more, err := m.mountedFiles()
	return append([]action.File{{Name: valuesFile, Content: text}}, more...), err
}

// mountedFiles returns the configurations of the provider and of the manager, where the cluster
// has them.
func (m *migration) mountedFiles() ([]action.File, error) {
	config := m.cloudConfig()
	more, err := m.configFiles()
	return append(lists.If(config != "", action.File{Name: cloudConfigFile, Content: config}), more...), err
}

// disableLeaderMigration brings the chart to values without the flag and to the
// image of the cluster's minor. The right to the lease stays.
func (m *migration) disableLeaderMigration() transform.Stage {
	if m.file != nil {
		return m.disableByValues()
	}
	s := transform.Stage{Why: m.DisableWhy() + m.copyWhy()}
	if m.Target.KeepLeaderMigration && !m.move().Planned() {
		s.Why = "Not needed: leader migration stays on, and the image has the cluster's minor already."
		return s
	}
	s.After = append(m.helmOver(finalValuesFile, "upgrade the chart to its final values; plan --out writes them"), stages.Rollout("wait for the new pods"))
	s.After = append(s.After, m.dropConfig()...)
	s.UndoAfter = slices.Concat(m.configActions(), m.helmOver(valuesFile, "roll the chart back to the values of the migration"), []action.Action{stages.Rollout("wait for the new pods")})
	s.Files = m.finalFiles
	return m.Disable(s)
}

func (m *migration) finalFiles() ([]action.File, error) {
	o := m.chartOptions(m.move().Reached())
	o.LeaderMigration = m.Target.KeepLeaderMigration
	o.MigrationConfig = o.MigrationConfig && m.Target.KeepLeaderMigration
	stop := func(c ccm.Chart, e *yamledit.Edit) {
		c.StopMigrating(ccm.Edits{File: e}, c.FinalTag(m.Target, Name, o.Minor), m.Target.KeepLeaderMigration)
	}
	switch {
	case o.MigrationConfig && !leadermigration.SameNames(o.Tag(), o.Minor):
		stop = nil // the configuration stays, and names the controllers of this image
	case semver.MajorMinor(o.ImageTag) != o.Minor && semver.IsValid(o.ImageTag):
		o.ImageTag = "" // the operator's tag is that of another minor
	}
	text, err := m.valuesFor(o, stop)
	return []action.File{{Name: finalValuesFile, Content: text}}, err
}

// cloudConfigFile is what a plan folder calls the provider's configuration.
const cloudConfigFile = ccm.CloudConfigKey

// cloudConfig returns the provider's configuration: the user's own text, which
// RKE takes before a block of settings, or what RKE makes of the block.
func (c *Cluster) cloudConfig() string {
	p := c.Read.CloudProvider
	if p.CustomCloudProvider != "" || p.AWSCloudProvider == nil {
		return p.CustomCloudProvider
	}
	sections := []string{section("Global", "", p.AWSCloudProvider.Global)}
	for _, label := range lists.Keys(p.AWSCloudProvider.ServiceOverride) {
		sections = append(sections, section("ServiceOverride", label, p.AWSCloudProvider.ServiceOverride[label]))
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n")
}

// section writes the settings of a section that are set as the manager's reader (gcfg) takes them, named as RKE tags them
// (types.GlobalAwsOpts and types.ServiceOverride); "" for none.
func section(name, label string, of any) string {
	text, v := "", reflect.ValueOf(of)
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("ini"), ","); !v.Field(i).IsZero() {
			text += key + " = " + iniValue(fmt.Sprint(v.Field(i).Interface())) + "\n"
		}
	}
	switch {
	case text == "":
		return ""
	case label != "":
		name += " " + inQuotes(label)
	}
	return "[" + name + "]\n" + text
}

// plainValue needs no quotes: nothing in it starts a comment or an escape.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9:/._@*+-]+$`)

func iniValue(s string) string {
	if plainValue.MatchString(s) {
		return s
	}
	return inQuotes(s)
}

func inQuotes(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// cloudConfigActions bring the configuration to where the chart mounts it.
func (m *migration) cloudConfigActions() []action.Action {
	const why = "before the chart, create the configuration of the provider, which the chart mounts; plan --out writes the file"
	from := action.SecretFromFile{Namespace: "kube-system", Name: ccm.CloudConfigSecret, Key: ccm.CloudConfigKey, File: cloudConfigFile}
	return lists.If(m.cloudConfig() != "", action.Create(from, why))
}
