// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// chartArgs is where the chart's values have the manager's arguments.
const chartArgs = "args"

// installed is the chart of the cloud-controller-manager in a cluster's file.
type installed struct {
	*migration
	chart ccm.Chart
}

// installs are these charts; none where one cannot be read.
func (m *migration) installs() []installed {
	charts, err := m.charts()
	if err != nil {
		return nil
	}
	return lists.Map(charts, func(c ccm.Chart) installed { return installed{m, c} })
}

// about returns a finding about a node of the HelmChart, or about its spec where
// the node is not there.
func (c installed) about(n yamledit.Node, message, fix string) transform.Finding {
	return c.bundle().Finding(c.chart.Index, yamledit.First(n, c.chart.Root.Get("spec")), message, fix)
}

// in returns a finding about a node of a source of values, or about the source
// where the node is not there.
func (c installed) in(l helmchart.Layer, n yamledit.Node, message, fix string) transform.Finding {
	if n.Exists() && l.Form != helmchart.Content {
		l.At = n // of the same document
	}
	if !l.At.Exists() {
		return c.about(l.At, message, fix)
	}
	f := transform.FindingAt(l.At, message, fix)
	if l.Index != helmchart.InFile {
		f = c.bundle().Finding(l.Index, l.At, message, fix)
	}
	if n.Exists() && l.Form == helmchart.Content {
		f.Line, f.Path = n.Line(), f.Path+"."+n.Path()
	}
	return f
}

// at returns a finding about the value at a path, in the source that decides it.
func (c installed) at(message, fix string, path ...string) transform.Finding {
	l := c.chart.Decider(path...)
	return c.in(l, l.Root.Get(path...), message, fix)
}

// inArgs returns a finding about one of the arguments.
func (c installed) inArgs(n yamledit.Node, message, fix string) transform.Finding {
	return c.in(c.chart.Decider(chartArgs), n, message, fix)
}

// Charts are those whose values a shared rule can use.
func (m *migration) Charts(rule string) []rules.Chart {
	return lists.Map(m.checked(rule), installed.subject)
}

func (c installed) subject() rules.Chart {
	return rules.Chart{
		Chart: c.chart, Format: Name, Release: c.Version, External: c.isExternal(), Target: c.target,
		Nodes: c.controlPlaneNodes, Label: "node-role.kubernetes.io/control-plane", At: c.at,
	}
}

func (m *migration) chartUnpinned(found *transform.Findings) {
	for _, c := range m.checked(rules.ChartUnpinned.ID) {
		switch {
		case c.chart.Pinned():
		case c.chart.Reference.Archive:
			found.Add(c.about(c.chart.Spec("chart"), "the name of the archive has no version, and spec.version is ignored for archives",
				"use an archive with a version in its name, as in "+ccm.ChartName+"-"+ccm.DefaultVersion+".tgz"))
		default:
			found.Add(c.about(c.chart.Spec("version"), "the chart has no exact version", "set version: "+ccm.DefaultVersion))
		}
		rules.TagUnpinned(c.subject(), found)
	}
}

// ccmArgsUnsafe checks the chart, and a workload of its own.
func (m *migration) ccmArgsUnsafe(found *transform.Findings) {
	rules.CCMArgsUnsafe.Check(m, found)
	rules.UnsafeWorkload(m.bundle(), found)
}

// ccmFlagMissing checks the chart, and a workload of its own.
func (m *migration) ccmFlagMissing(found *transform.Findings) {
	if m.runsInTree() {
		rules.CCMFlagMissing.Check(m, found)
		rules.SecondWorkload(m.bundle(), m.target, found)
	}
}

// runsInTree reports whether a control plane's manager is the in-tree one.
func (m *migration) runsInTree() bool {
	return m.anyControlPlane(func(c effective.Config) bool { return c.Provider(managerArgs) == inTree })
}

// addressFlapping is about the in-tree kubelets (kubernetes #109793).
func (m *migration) addressFlapping(found *transform.Findings) {
	if k8s.From(m.minor(), "v1.25") || !slices.ContainsFunc(m.Kinds, func(c effective.Class) bool { return m.Effective(c).Provider(kubeletArgs) == inTree }) {
		return
	}
	for _, c := range m.installs() {
		found.Add(c.about(c.chart.Root.Get("spec", "chart"),
			"below Kubernetes 1.25 the manager and the in-tree kubelets both write the addresses of nodes, until the kubelets are external",
			"keep the time between this stage and the switch short"))
	}
}

// helmReinstall checks the policy that counts: a HelmChartConfig's wins.
func (m *migration) helmReinstall(found *transform.Findings) {
	for _, c := range m.installs() {
		if policy, of := c.chart.FailurePolicy(); policy != "abort" && policy != "retry" {
			at := yamledit.First(of.Spec("failurePolicy"), of.Root.Get("spec"))
			found.Add(c.bundle().Finding(of.Index, at, "a failed upgrade of the chart uninstalls it before it installs it again, and no cloud-controller-manager runs in between", "set failurePolicy: abort"))
		}
	}
}

// serviceOverrideNames checks the configuration of the provider, on control planes and in the
// Secret to which install-ccm carries it.
func (m *migration) serviceOverrideNames(found *transform.Findings) {
	version := m.move().Reached()
	for _, at := range m.Winners(cloudConfigKey, effective.Class.ControlPlane) {
		rules.OverrideNames(at, version, found.At)
	}
	docs, _ := m.manifests()
	for i, d := range docs {
		if d.Root().StringAt("metadata", "name") == ccm.CloudConfigSecret {
			rules.OverrideNames(d.Root().Get("stringData", ccm.CloudConfigKey), version, func(n yamledit.Node, message, fix string) *transform.Finding {
				return found.Add(m.bundle().Finding(i, n, message, fix))
			})
		}
	}
}

// cloudConfigLost checks the provider's configuration once something needs it
// that does not have it; before that the stages carry it over.
func (m *migration) cloudConfigLost(found *transform.Findings) {
	if m.carriesCloudConfig() || !m.runsInTree() && !m.switching() {
		return
	}
	_, chart, _ := m.chart()
	early := m.runsInTree() && !chart
	for _, at := range m.Winners(cloudConfigKey, anyClass) {
		if early {
			rules.ConfigCarried(at, found)
		} else {
			rules.ConfigLost(at, "", found)
		}
	}
}
