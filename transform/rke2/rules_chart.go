// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// chartRules are those about the cloud-controller-manager.
func chartRules() []rule {
	return []rule{
		// It checks the provider's configuration once something needs it
		// that does not have it; before that the stages carry it over.
		rules.By(rules.CloudConfigLost.WithDoc(
			"cloud-provider-config is set: an external provider ignores it, so its content must reach the cloud-controller-manager as --cloud-config."),
			func(m *migration) []rules.Ignored {
				if m.carriesCloudConfig() || !m.runsInTree() && !m.switching() {
					return nil
				}
				_, chart, _ := m.chart()
				early := m.runsInTree() && !chart
				return lists.Map(m.Winners(cloudConfigKey, anyClass), func(at yamledit.Node) rules.Ignored { return rules.Ignored{At: at, Carried: early} })
			}),
		// It checks the configuration of the provider, on control planes and in the
		// Secret to which install-ccm carries it. The cloud-controller-manager of 1.33.1 and later
		// compares the names of services with those of the second version of the AWS SDK, and ignores
		// a section with another name (kubernetes/cloud-provider-aws,
		// pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and v1.34.3).
		{Rule: transform.Rule{ID: "service-override-names", Severity: transform.Error, Guards: rules.TheChart,
			Doc: "A section ServiceOverride of the provider's configuration names a service as managers before 1.33 do, and no section names it as later ones do: the cloud-controller-manager of Kubernetes 1.33 and later ignores it and calls the public endpoint."}.Because(
			"The manager ignores the section and calls the public endpoint of AWS, which a VPC without a way to the internet does not reach.", "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and v1.34.3", "Add the same URL with the service names that the finding lists.", "If the public endpoints can be reached from the control planes."),
			Check: func(m *migration, found *transform.Findings) {
				if !k8s.From(m.move().Reached(), "v1.33") {
					return
				}
				ignored := func(at yamledit.Node, report transform.Report) {
					for _, s := range aws.IgnoredOverrides(at.StringAt()) {
						report(at, "the cloud-controller-manager of Kubernetes 1.33 and later ignores the section ServiceOverride of the service "+s.Before+", and calls the public endpoint",
							"add a section with the same URL for Service = "+strings.Join(s.Since, ", and one for Service = "))
					}
				}
				for _, at := range m.Winners(cloudConfigKey, effective.Class.ControlPlane) {
					ignored(at, found.At)
				}
				docs, _ := m.manifests()
				for i, d := range docs {
					if d.Root().StringAt("metadata", "name") == ccm.CloudConfigSecret {
						ignored(d.Root().Get("stringData", ccm.CloudConfigKey), func(n yamledit.Node, message, fix string) *transform.Finding {
							return found.Add(m.Bundle().Finding(i, n, message, fix))
						})
					}
				}
			}},
		// It is about the in-tree kubelets (kubernetes #109793).
		{Rule: transform.Rule{ID: "address-flapping", Severity: transform.Warning, Guards: rules.TheChart,
			Doc: "Below Kubernetes 1.25 the cloud-controller-manager and the in-tree kubelets both write the addresses of nodes until the kubelets are external."}.Because(
			"Both write the addresses of nodes in turn, so that they change again and again where the two see different ones.", "kubernetes/kubernetes #109793", "Keep the time between the chart and the switch short.", "Always, if the addresses of a node do not matter for some minutes."),
			Check: func(m *migration, found *transform.Findings) {
				if k8s.From(m.minor(), "v1.25") || !slices.ContainsFunc(m.Kinds, func(c effective.Class) bool { return m.Effective(c).Provider(kubeletArgs) == inTree }) {
					return
				}
				for _, c := range m.installs() {
					found.Add(m.about(c.Chart, c.Root.Get("spec", "chart"),
						"below Kubernetes 1.25 the manager and the in-tree kubelets both write the addresses of nodes, until the kubelets are external",
						"keep the time between this stage and the switch short"))
				}
			}},
		{Rule: transform.Rule{ID: "chart-field-ignored", Severity: transform.Warning, Guards: rules.TheChart,
			Doc: "The HelmChart of the cloud-controller-manager, or its HelmChartConfig, has values in a field that the helm-controller of this RKE2 release does not have: valuesSecrets before 1.30.12, 1.31.8 and 1.32.4, values before 1.33.11, 1.34.7 and 1.35.4."}.Because(
			"The helm-controller of this release drops the field, and the chart is installed without those values.", "k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go", "Move the values to valuesContent.", "If the values are only for a later release of RKE2."),
			Check: func(m *migration, found *transform.Findings) {
				for _, c := range m.installs() {
					for _, l := range m.ChartSources(nil).Ignored(c.Chart.Release) {
						found.Add(m.in(c.Chart, l, l.At, l.Name+" has no effect: the helm-controller of RKE2 "+m.Version+" does not have it", "write the values to valuesContent"))
					}
				}
			}},
		{Rule: transform.Rule{ID: "chart-not-checked", Severity: transform.Note, Guards: rules.TheChart,
			Doc: "Something that determines what the chart of the cloud-controller-manager installs is not in the file: a Secret of valuesSecrets, templates in chartContent other than the published chart's, an archive that cannot be read, a chart of another name. The rules that depend on it are not checked."}.Because(
			"What the manager is started with is not in the file, so arguments, image and tolerations are not checked.", "the file itself", "Check the values in the place that the finding names.", "When they were checked."),
			Check: func(m *migration, found *transform.Findings) {
				for _, c := range m.installs() {
					for _, l := range c.Layers {
						hidden := strings.Join(hiddenBy(c, l), ", ")
						switch why := c.Foreign(); {
						case l.Form == helmchart.Own && why != "":
							found.Add(m.foreign(c, why, hidden))
						case hidden != "":
							found.Add(m.in(c.Chart, l, l.At, "not checked: "+hidden+"; they depend on "+l.Name+", which the file does not show",
								"set "+chartArgs+" and image.tag where nothing overrides them, in valuesContent of a HelmChartConfig of the same name, or check the DaemonSet in the cluster"))
						}
					}
				}
			}},
		{Rule: rules.ChartUnpinned.Rule.WithDoc(
			"The HelmChart of the cloud-controller-manager names no exact chart version or no image tag, so that a new release changes the cluster."),
			Check: func(m *migration, found *transform.Findings) {
				for _, c := range m.Charts(rules.ChartUnpinned.ID) {
					switch {
					case c.Pinned():
					case c.Reference.Archive:
						found.Add(m.about(c.Chart, c.Spec("chart"), "the name of the archive has no version, and spec.version is ignored for archives",
							"use an archive with a version in its name, as in "+ccm.ChartName+"-"+ccm.DefaultVersion+".tgz"))
					default:
						found.Add(m.about(c.Chart, c.Spec("version"), "the chart has no exact version", "set version: "+ccm.DefaultVersion))
					}
					rules.TagUnpinned(c, found)
				}
			}},
		// It checks the policy that counts: a HelmChartConfig's wins.
		{Rule: transform.Rule{ID: "helm-reinstall", Severity: transform.Warning, Guards: rules.TheChart,
			Doc: "The HelmChart of the cloud-controller-manager lacks failurePolicy: abort, so a failed upgrade uninstalls the chart before it installs it again."}.Because(
			"After a failed upgrade helm-controller uninstalls the release: the manager and its permissions are gone for that time.", "k3s-io/helm-controller: failurePolicy", "Set failurePolicy: abort.", "If an outage of the manager during an upgrade is acceptable."),
			Check: func(m *migration, found *transform.Findings) {
				for _, c := range m.installs() {
					if policy, of := c.FailurePolicy(); policy != "abort" && policy != "retry" {
						at := yamledit.First(of.Spec("failurePolicy"), of.Root.Get("spec"))
						found.Add(m.Bundle().Finding(of.Index, at, "a failed upgrade of the chart uninstalls it before it installs it again, and no cloud-controller-manager runs in between", "set failurePolicy: abort"))
					}
				}
			}},
	}
}

// chartArgs is where the chart's values have the manager's arguments.
const chartArgs = "args"

// installs are the charts of the cloud-controller-manager in a cluster's file; none where one cannot be read.
func (m *migration) installs() []rules.Chart {
	charts, err := m.charts()
	if err != nil {
		return nil
	}
	return lists.Map(charts, func(c ccm.Chart) rules.Chart {
		at := func(message, fix string, path ...string) transform.Finding {
			l := c.Decider(path...)
			return m.in(c, l, l.Root.Get(path...), message, fix)
		}
		return rules.Chart{
			Chart: c, Format: Name, Release: m.Version, External: m.isExternal(), Target: m.Target,
			Nodes: m.controlPlaneNodes, Label: "node-role.kubernetes.io/control-plane", At: at,
		}
	})
}

// about returns a finding about a node of the HelmChart, or about its spec where
// the node is not there.
func (m *migration) about(c ccm.Chart, n yamledit.Node, message, fix string) transform.Finding {
	return m.Bundle().Finding(c.Index, yamledit.First(n, c.Root.Get("spec")), message, fix)
}

// in returns a finding about a node of a source of values, or about the source
// where the node is not there.
func (m *migration) in(c ccm.Chart, l helmchart.Layer, n yamledit.Node, message, fix string) transform.Finding {
	if n.Exists() && l.Form != helmchart.Content {
		l.At = n // of the same document
	}
	if !l.At.Exists() {
		return m.about(c, l.At, message, fix)
	}
	f := transform.FindingAt(l.At, message, fix)
	if l.Index != helmchart.InFile {
		f = m.Bundle().Finding(l.Index, l.At, message, fix)
	}
	if n.Exists() && l.Form == helmchart.Content {
		f.Line, f.Path = n.Line(), f.Path+"."+n.Path()
	}
	return f
}

// runsInTree reports whether a control plane's manager is the in-tree one.
func (m *migration) runsInTree() bool {
	return m.anyControlPlane(func(c effective.Config) bool { return c.Provider(managerArgs) == inTree })
}

// rulesOfValues are rules, and the values of the chart that they depend on.
var rulesOfValues = map[string][]string{
	rules.CCMArgsUnsafe.ID: {chartArgs, "clusterRoleRules"}, rules.CCMFlagMissing.ID: {chartArgs},
	rules.CCMMinorSkew.ID: {"image.tag", chartArgs}, rules.CCMUnschedulable.ID: {"nodeSelector", "tolerations"},
	rules.ChartUnpinned.ID: {"image.tag"}, rules.ConfigNotMounted.ID: {chartArgs, "extraVolumes", "extraVolumeMounts"},
	rules.ConfigWithoutFlag.ID: {chartArgs}, rules.FlagOnExternalGate.ID: {chartArgs},
	rules.LeaderElectionOff.ID: {chartArgs}, rules.LeaseTimingsUnsafe.ID: {chartArgs, "image.tag"},
}

// Charts are those whose values a rule can use. No stage before install-ccm, which puts the values right, waits for them.
func (m *migration) Charts(rule string) []rules.Chart {
	if rules.BeforeChart(m.Stage, m.Target) {
		return nil
	}
	return m.known(rule)
}

// known are those after any stage: the file shows what decides the values. The rule chart-not-checked reports the others.
func (m *migration) known(rule string) []rules.Chart {
	if rulesOfValues[rule] == nil {
		return nil
	}
	return lists.Where(m.installs(), func(c rules.Chart) bool { _, hidden := unseen(c, rule); return !hidden })
}

// unseen returns a source of values that the file does not show and that may
// decide what a rule finds.
func unseen(c rules.Chart, rule string) (helmchart.Layer, bool) {
	for _, path := range rulesOfValues[rule] {
		if l, unknown := c.Unknown(strings.Split(path, ".")...); unknown {
			return l, true
		}
	}
	return helmchart.Layer{}, false
}

// foreign returns the note about a chart that is not the published one.
func (m *migration) foreign(c rules.Chart, why, hidden string) transform.Finding {
	if hidden != "" {
		why += "; without its values.yaml these rules are not checked: " + hidden
	}
	return m.about(c.Chart, yamledit.First(c.Spec("chartContent"), c.Spec("chart")), "custom chart, not checked: "+why, "make sure that its DaemonSet takes args, image, nodeSelector and tolerations from the values")
}

// hiddenBy returns the rules that are not checked because of a source of values.
func hiddenBy(c rules.Chart, l helmchart.Layer) []string {
	if !l.Unknown {
		return nil
	}
	return lists.Where(lists.Keys(rulesOfValues), func(rule string) bool {
		hidden, is := unseen(c, rule)
		return is && hidden.At.Same(l.At)
	})
}

// chartTwice finds what the file installs or configures twice.
func (m *migration) chartTwice(found *transform.Findings) {
	charts, _ := m.charts()
	for i, c := range charts {
		if i > 0 {
			found.Add(m.Bundle().Finding(c.Index, c.Root.Get("spec"), fmt.Sprintf("document [%d] of the manifest installs the same DaemonSet, which only one Helm release can own", charts[0].Index), "remove one of the two"))
		}
		if twin, twice := c.ConfiguredTwice(); twice {
			found.Add(m.Bundle().Finding(twin.Index, twin.Root, "this document is the same object as chartValues."+c.Name()+", and one overwrites the other in the cluster", "keep one of the two"))
		}
	}
}
