// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rulesOfValues are rules, and the values of the chart that they depend on.
var rulesOfValues = map[string][]string{
	rules.CCMArgsUnsafe.ID: {chartArgs, "clusterRoleRules"}, rules.CCMFlagMissing.ID: {chartArgs},
	rules.CCMMinorSkew.ID: {"image.tag", chartArgs}, rules.CCMUnschedulable.ID: {"nodeSelector", "tolerations"},
	rules.ChartUnpinned.ID: {"image.tag"}, rules.ConfigNotMounted.ID: {chartArgs, "extraVolumes", "extraVolumeMounts"},
	rules.ConfigWithoutFlag.ID: {chartArgs}, rules.FlagOnExternalGate.ID: {chartArgs},
	rules.LeaderElectionOff.ID: {chartArgs}, rules.LeaseTimingsUnsafe.ID: {chartArgs, "image.tag"},
}

// checked are the charts whose values the rule can use. No stage before install-ccm, which puts the values right, waits for
// them.
func (m *migration) checked(rule string) []installed {
	if rules.BeforeChart(m.stage, m.target) {
		return nil
	}
	return m.known(rule)
}

// known are those after any stage: the file shows what decides the values. chartNotChecked reports the others.
func (m *migration) known(rule string) []installed {
	if rulesOfValues[rule] == nil {
		return nil
	}
	return lists.Where(m.installs(), func(c installed) bool { _, unseen := c.unseen(rule); return !unseen })
}

// unseen returns a source of values that the file does not show and that may
// decide what a rule finds.
func (c installed) unseen(rule string) (helmchart.Layer, bool) {
	for _, path := range rulesOfValues[rule] {
		if l, unknown := c.chart.Unknown(strings.Split(path, ".")...); unknown {
			return l, true
		}
	}
	return helmchart.Layer{}, false
}

// chartNotChecked reports which rules are not checked, and why.
func (m *migration) chartNotChecked(found *transform.Findings) {
	for _, c := range m.installs() {
		for _, l := range c.chart.Layers {
			hidden := strings.Join(c.hiddenBy(l), ", ")
			switch why := c.chart.Foreign(); {
			case l.Form == helmchart.Own && why != "":
				found.Add(c.foreign(why, hidden))
			case hidden != "":
				found.Add(c.in(l, l.At, "not checked: "+hidden+"; they depend on "+l.Name+", which the file does not show",
					"set "+chartArgs+" and image.tag where nothing overrides them, in valuesContent of a HelmChartConfig of the same name, or check the DaemonSet in the cluster"))
			}
		}
	}
}

// foreign returns the note about a chart that is not the published one.
func (c installed) foreign(why, rules string) transform.Finding {
	if rules != "" {
		why += "; without its values.yaml these rules are not checked: " + rules
	}
	return c.about(yamledit.First(c.chart.Spec("chartContent"), c.chart.Spec("chart")), "custom chart, not checked: "+why, "make sure that its DaemonSet takes args, image, nodeSelector and tolerations from the values")
}

// hiddenBy returns the rules that are not checked because of a source of values.
func (c installed) hiddenBy(l helmchart.Layer) []string {
	if !l.Unknown {
		return nil
	}
	return lists.Where(lists.Keys(rulesOfValues), func(rule string) bool {
		hidden, unseen := c.unseen(rule)
		return unseen && hidden.At.Same(l.At)
	})
}

// chartFieldIgnored finds values that the cluster's release does not know.
func (m *migration) chartFieldIgnored(found *transform.Findings) {
	for _, c := range m.installs() {
		for _, l := range m.ChartSources(nil).Ignored(c.chart.Release) {
			found.Add(c.in(l, l.At, l.Name+" has no effect: the helm-controller of RKE2 "+m.Version+" does not have it", "write the values to valuesContent"))
		}
	}
}

// chartTwice finds what the file installs or configures twice.
func (m *migration) chartTwice(found *transform.Findings) {
	charts, _ := m.charts()
	for i, c := range charts {
		if i > 0 {
			found.Add(m.bundle().Finding(c.Index, c.Root.Get("spec"), fmt.Sprintf("document [%d] of the manifest installs the same DaemonSet, which only one Helm release can own", charts[0].Index), "remove one of the two"))
		}
		if twin, twice := c.ConfiguredTwice(); twice {
			found.Add(m.bundle().Finding(twin.Index, twin.Root, "this document is the same object as chartValues."+c.Name()+", and one overwrites the other in the cluster", "keep one of the two"))
		}
	}
}
