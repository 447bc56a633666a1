// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// near returns a node, or what holds it where it is not there.
func (m *migration) near(at yamledit.Node) yamledit.Node {
	return yamledit.First(at, m.get(providerKey), m.Config)
}

// isOnAWS reports whether the cluster is one to migrate, or was: lint also reads
// others.
func (m *migration) isOnAWS() bool { return m.provider() == inTree || m.provider() == externalName }

// isNamedExternal reports whether the file says external-aws, whatever RKE makes
// of it.
func (m *migration) isNamedExternal() bool { return m.Read.CloudProvider.Name == externalName }

func (m *migration) awsBlockResets(found *transform.Findings) {
	if block := m.get(providerKey, awsKey); m.isNamedExternal() && block.Exists() {
		found.At(block, "RKE selects the provider by this block and changes "+externalName+" back to aws", "apply the stages: the cluster is in-tree, and the switch removes the block and keeps its settings")
	}
}

// Charts are the values file, if there is one. No stage before install-ccm, which puts it right, waits
// for it.
func (m *migration) Charts(string) []rules.Chart {
	if m.file == nil || rules.BeforeChart(m.stage, m.target) {
		return nil
	}
	label, _, _ := strings.Cut(controlPlaneNodeLabel, "=")
	return []rules.Chart{{
		Chart: m.file.chart, Format: Name, Release: m.Version, External: m.isExternal(), Target: m.target,
		Nodes: m.chartNodes, Label: label, At: m.valuesFinding,
	}}
}

// ccmFlagMissing checks the values file, and what addons run.
func (m *migration) ccmFlagMissing(found *transform.Findings) {
	if m.component(manager) == inTree {
		rules.SecondWorkload(m.bundle(), m.target, found)
		rules.CCMFlagMissing.Check(m, found)
	}
}

// ccmArgsUnsafe checks the values file, and what addons run.
func (m *migration) ccmArgsUnsafe(found *transform.Findings) {
	rules.UnsafeWorkload(m.bundle(), found)
	rules.CCMArgsUnsafe.Check(m, found)
}

// ccmNotInFile looks at what addons run: a release of Helm never shows.
func (m *migration) ccmNotInFile(found *transform.Findings) {
	if m.lacksManager() {
		rules.NotInFile(m.near(m.get(providerKey, nameKey)), "if none runs, install the chart as in the plan", found)
	}
}

func (m *migration) storageClassInTree(found *transform.Findings) {
	docs, _ := m.bundle().Documents()
	rules.InTreeClasses(docs, m.bundle().At(), found)
}

// cloudConfigLost checks a file that the manager names itself: no one but the
// operator knows what is in it.
func (m *migration) cloudConfigLost(found *transform.Findings) {
	if a, set := args.Last(m.argsOf(manager), "cloud-config"); set && a.Value != "" {
		rules.ConfigLost(a.Node(), ", and the stages cannot read it", found)
	}
	if m.cloudConfig() == "" || m.isExternal() {
		return
	}
	rules.ConfigCarried(yamledit.First(m.get(providerKey, customKey), m.near(m.get(providerKey, awsKey))), found)
}

// inTreeGone is about the provider's name, or else an argument of a component.
func (m *migration) inTreeGone(found *transform.Findings) {
	image := m.get(imagesKey, kubernetesKey)
	if m.provider() == inTree && !m.isExternal() && rules.FindInTreeImage(image, found) || !rules.IsInTreeGone(m.move(), m.stage) {
		return
	}
	if m.provider() == inTree {
		rules.FindInTreeProvider(m.near(m.get(providerKey)), m.move(), found)
		return
	}
	for _, service := range components {
		if a, set := args.Last(m.argsOf(service), componentFlag); set && a.Value == inTree {
			rules.FindInTreeProvider(a.Node(), m.move(), found)
			return
		}
	}
}

// providerRemoved looks for what only a cluster with a provider has: RKE's own example
// has an empty name as well.
func (m *migration) providerRemoved(found *transform.Findings) {
	if m.provider() != "" {
		return
	}
	docs, _ := m.bundle().Documents()
	_, runs := ccm.FindWorkload(docs)
	if !runs && !m.migrates() && !m.usesMetadata() {
		return
	}
	found.At(m.near(m.get(providerKey, nameKey)), "no cloud provider is set, and the cluster had one: nodes lose the names from EC2 and register as new Nodes, and no manager runs the cloud controllers",
		"set cloud_provider to "+inTree+" before the switch, or to "+externalName+" after it")
}

// providerMixed compares the components, each of which has the same provider on all machines.
func (m *migration) providerMixed(found *transform.Findings) {
	rules.Mixed(lists.Map(components, func(service string) rules.Provided {
		return rules.Provided{What: service, Provider: m.component(service), At: m.near(m.get(servicesKey, service, argsKey))}
	}), m.Version, found)
}

// The first releases with external-aws (rancher/rke, rancher/rancher).
const (
	needsRKE        = "external-aws needs RKE 1.4.15, or 1.5.0 and later"
	knowExternalAWS = "2.7.11, or 2.8.0 to 2.11"
)

// rancherUnfit finds a Rancher that does not know external-aws.
func (m *migration) rancherUnfit(found *transform.Findings, at yamledit.Node, v k8s.Rancher) {
	const retry = "set --rancher-version to the one that applies the change"
	switch {
	case !v.Known:
		found.At(at, "external-aws needs Rancher "+knowExternalAWS+", and Rancher "+m.target.RancherVersion+" is none that is known", retry)
	case v.ExternalAWS == "":
		found.At(at, "Rancher "+m.target.RancherVersion+" provisions no RKE clusters: 2.12 removed RKE", "migrate with Rancher "+knowExternalAWS+"; "+retry)
	case !v.Since(v.ExternalAWS):
		found.At(at, "external-aws needs Rancher "+knowExternalAWS+", and "+m.target.RancherVersion+" is older", "upgrade Rancher first")
	}
}

func (m *migration) template(found *transform.Findings) {
	for _, path := range [][]string{{"spec", "clusterTemplateRevisionName"}, {"clusterTemplateRevisionId"}} {
		if at := m.Doc.Root().Get(path...); m.Wrapped && at.Exists() && !at.IsNull() {
			found.At(at, "the configuration comes from an RKE template, and an edit of the cluster is lost", "make the change in a revision of the template, or accept this if the cluster no longer uses it")
		}
	}
}

func (m *migration) rkeTooOld(found *transform.Findings) {
	if !m.isOnAWS() {
		return
	}
	at := m.near(m.get(providerKey, nameKey))
	rke, rancher := m.target.RKEVersion, m.target.RancherVersion
	switch {
	case rke != "" && !k8s.Since("v"+strings.TrimPrefix(rke, "v"), "v1.4.15"):
		found.At(at, needsRKE+", and --rke-version is older", "upgrade RKE first")
	case rancher != "":
		m.rancherUnfit(found, at, k8s.RancherOf(rancher))
	case rke == "":
		found.At(at, needsRKE+"; in Rancher, "+knowExternalAWS, "check which one runs, and set --rke-version or --rancher-version").Severity = transform.Note
	}
}
