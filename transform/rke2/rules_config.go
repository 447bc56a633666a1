// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// configNotMounted finds a configuration that is not where its manager looks.
func (m *migration) configNotMounted(found *transform.Findings) {
	m.undelivered(found)
	m.emptyFiles(found)
	for _, c := range m.checked(rules.ConfigNotMounted.ID) {
		if c.chart.ConfigFile() != "" && !c.chart.ConfigMounted() {
			found.Add(c.at("no entry of extraVolumes and extraVolumeMounts creates the file that --"+configFlag+" names, and the manager exits",
				"mount a ConfigMap that holds it, as --leader-migration-config generate does", chartArgs))
		}
	}
}

// undelivered finds files that control planes do not get. Without the flag no one
// reads them.
func (m *migration) undelivered(found *transform.Findings) {
	for _, won := range m.Won(managerArgs, effective.Class.ControlPlane) {
		list := args.Of(won.At.Value())
		a, named := args.Last(list, configFlag)
		lacks := func(c effective.Class) bool {
			_, _, gets := m.Delivered(c, a.Value)
			return !gets && m.Effective(c)[managerArgs].Origin.Exists()
		}
		if class, has := lists.Find(won.Classes, lacks); has && named && args.Enables(list, leaderFlag) {
			found.At(won.At, "no entry of machineSelectorFiles writes the file that "+configFlag+" names on machines of class "+class.Name+", and the manager exits",
				"add it to machineSelectorFiles, as --leader-migration-config generate does; accept the rule if something else writes it")
		}
	}
}

// configRules check the configurations of both managers, as far as they were given. That
// of kube-controller-manager is in an object of its own.
func configRules() []rule {
	var table []rule
	for _, r := range leadermigration.Rules() {
		r.Guards = rules.BothManagers
		table = append(table, rule{Rule: r, Check: func(m *migration, found *transform.Findings) {
			found.Add(slices.DeleteFunc(m.configFindings(), func(f transform.Finding) bool { return f.Rule != r.ID })...)
		}})
	}
	return table
}

// configFindings are about the configurations that a manager reads from a stage on.
func (m *migration) configFindings() []transform.Finding {
	var found []transform.Finding
	if m.stage == "" || slices.Contains(rules.FlagEdits, m.stage) {
		found = m.managerFindings()
	}
	if m.stage == "" || slices.Contains(rules.ChartRuns, m.stage) {
		found = append(found, m.cloudFindings()...)
	}
	return found
}

// cloudConfig is a configuration of the cloud-controller-manager in additionalManifest.
type cloudConfig struct {
	installed
	root     yamledit.Node // does not exist where it is none
	unquoted []transform.Finding
	at       yamledit.Node // the string that holds it
	document int           // of additionalManifest
}

func (m *migration) cloudConfigs() (all []cloudConfig) {
	docs, _ := m.manifests()
	for _, c := range m.installs() {
		at, i := c.chart.Config(docs)
		if c.chart.ConfigFile() == "" || !at.Exists() {
			continue // it lies elsewhere
		}
		if root, unquoted, err := leadermigration.Embedded(at); err == nil {
			all = append(all, cloudConfig{c, root, unquoted, at, i})
		}
	}
	return all
}

// cloudFindings are about each of them, and about what it and that of
// kube-controller-manager say together.
func (m *migration) cloudFindings() []transform.Finding {
	var all []transform.Finding
	for _, c := range m.cloudConfigs() {
		found := c.unquoted
		if c.root.Exists() {
			found = append(found, leadermigration.Lint(c.root, m.configReader(c))...)
		}
		for _, d := range m.givenDeliveries() {
			if root, _ := d.config(); root.Exists() && c.root.Exists() {
				found = slices.Concat(found, leadermigration.OtherLease(c.root, root), leadermigration.NotListed(c.root, root))
			}
		}
		for k := range found {
			f := m.bundle().Finding(c.document, c.at, found[k].Message, found[k].Fix)
			f.Rule, f.Severity, f.Line = found[k].Rule, found[k].Severity, found[k].Line
			if found[k].Path != "" {
				f.Path += "." + found[k].Path
			}
			found[k] = f
		}
		all = append(all, found...)
	}
	return all
}

// configReader is the chart's manager. Another lease than the chosen one is right
// where the managers may lock it and kube-controller-manager may know of it.
func (m *migration) configReader(c cloudConfig) leadermigration.Reader {
	r := leadermigration.Reader{Component: leadermigration.CloudManager, Version: semver.MajorMinor(c.chart.ImageTag()), Lease: m.target.Lease()}
	name := c.root.StringAt("leaderName")
	docs, _ := m.manifests()
	unaware := func(class effective.Class) bool {
		return class.ControlPlane() && !args.Has(args.Of(m.Effective(class)[managerArgs].Value), configFlag)
	}
	if leadermigration.Granted(docs, name) && (m.isExternal() || !slices.ContainsFunc(m.Classes, unaware)) {
		r.Lease = name
	}
	return r
}
