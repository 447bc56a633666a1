// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/ranchers"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// near returns a node, or what holds it where it is not there.
func (m *migration) near(at yamledit.Node) yamledit.Node {
	for _, n := range []yamledit.Node{at, m.get(providerKey)} {
		if n.Exists() {
			return n
		}
	}
	return m.Config
}

// one returns a single finding near a node.
func (m *migration) one(at yamledit.Node, message, fix string) []transform.Finding {
	return []transform.Finding{transform.FindingAt(m.near(at), message, fix)}
}

// isOnAWS reports whether the cluster is one to migrate, or was: lint also reads
// others.
func (m *migration) isOnAWS() bool { return m.provider() == inTree || m.provider() == externalName }

// isNamedExternal reports whether the file says external-aws, whatever RKE makes
// of it.
func (m *migration) isNamedExternal() bool { return m.Read.CloudProvider.Name == externalName }

func (m *migration) awsBlockResets() []transform.Finding {
	block := m.get(providerKey, awsKey)
	if !m.isNamedExternal() || !block.Exists() {
		return nil
	}
	return m.one(block, "RKE selects the provider by this block and changes "+externalName+" back to aws", "apply the stages: the cluster is in-tree, and the switch removes the block and keeps its settings")
}

// checksValues reports whether there is a values file to check. No stage before install-ccm,
// which puts it right, waits for it.
func (m *migration) checksValues() bool {
	return m.file != nil && !stages.IsBefore(m.stage, stages.InstallCCM, m.target)
}

// ccmFlagMissing checks the values file, and what addons run.
func (m *migration) ccmFlagMissing() []transform.Finding {
	if m.component(manager) != inTree {
		return nil
	}
	found := rules.CCMFlagMissing.Workload(m.bundle(), m.target)
	if m.checksValues() {
		found = append(found, rules.CCMFlagMissing.Chart(m.file.chart, m.target, m.argsFinding)...)
	}
	return found
}

// ccmArgsUnsafe checks the values file, and what addons run.
func (m *migration) ccmArgsUnsafe() []transform.Finding {
	found := rules.CCMArgsUnsafe.Workload(m.bundle())
	if !m.checksValues() {
		return found
	}
	return append(found, rules.CCMArgsUnsafe.Chart(m.file.chart, m.argsFinding)...)
}

// ccmMinorSkew checks the image of the values file.
func (m *migration) ccmMinorSkew() []transform.Finding {
	if !m.checksValues() {
		return nil
	}
	return rules.CCMMinorSkew.Chart(m.file.chart, Name, m.Version, m.isExternal(), m.valuesFinding)
}

// ccmUnschedulable checks the node selector and the tolerations of the values file.
func (m *migration) ccmUnschedulable() []transform.Finding {
	if !m.checksValues() {
		return nil
	}
	label, _, _ := strings.Cut(controlPlaneNodeLabel, "=")
	return rules.CCMUnschedulable.Chart(m.file.chart, m.chartNodes(), label, m.valuesFinding)
}

// chartUnpinned checks the image of the values file; the version of the chart is in the command.
func (m *migration) chartUnpinned() []transform.Finding {
	if !m.checksValues() {
		return nil
	}
	return rules.ChartUnpinned.Image(m.file.chart, ccm.DefaultTag(Name, semver.MajorMinor(m.Version)), m.valuesFinding)
}

// ccmNotInFile looks at what addons run: a release of Helm never shows.
func (m *migration) ccmNotInFile() []transform.Finding {
	if !m.lacksManager() {
		return nil
	}
	return rules.CCMNotInFile.At(m.near(m.get(providerKey, nameKey)), "if none runs, install the chart as in the plan")
}

func (m *migration) storageClassInTree() []transform.Finding {
	docs, _ := m.bundle().Documents()
	return rules.StorageClassInTree.Check(docs, m.bundle().At())
}

// cloudConfigLost checks a file that the manager names itself: no one but the
// operator knows what is in it.
func (m *migration) cloudConfigLost() []transform.Finding {
	var found []transform.Finding
	if a, set := args.LastPlaced(m.argsOf(manager), "cloud-config"); set && a.Value != "" {
		found = rules.CloudConfigLost.Lost(a.Node, ", and the stages cannot read it")
	}
	if m.cloudConfig() == "" || m.isExternal() {
		return found
	}
	at := m.get(providerKey, customKey)
	if !at.Exists() {
		at = m.near(m.get(providerKey, awsKey))
	}
	return append(found, rules.CloudConfigLost.Carried(at)...)
}

// inTreeGone is about the provider's name, or else an argument of a component.
func (m *migration) inTreeGone() []transform.Finding {
	if image := m.get("system_images", "kubernetes"); image.Exists() && m.provider() == inTree && !m.isExternal() {
		if message, fix := rules.InTreeGone.Image(image); message != "" {
			return []transform.Finding{transform.FindingAt(image, message, fix)}
		}
	}
	if !rules.InTreeGone.Applies(m.move(), m.stage) {
		return nil
	}
	if m.provider() == inTree {
		return rules.InTreeGone.At(m.near(m.get(providerKey)), m.move())
	}
	for _, service := range components {
		if a, set := args.LastPlaced(m.argsOf(service), componentFlag); set && a.Value == inTree {
			return rules.InTreeGone.At(a.Node, m.move())
		}
	}
	return nil
}

// leaseGrantMissing checks a manager that runs the cloud controllers itself. What
// addons_include names is not in the file.
func (m *migration) leaseGrantMissing() []transform.Finding {
	if m.bundle().Grants() {
		return nil
	}
	return rules.LeaseGrantMissing.Check(m.argsOf(manager), m.component(manager))
}

// providerRemoved looks for what only a cluster with a provider has: RKE's own example
// has an empty name as well.
func (m *migration) providerRemoved() []transform.Finding {
	if m.provider() != "" {
		return nil
	}
	docs, _ := m.bundle().Documents()
	_, runs := ccm.FindWorkload(docs)
	if !runs && !m.migrates() && !m.usesMetadata() {
		return nil
	}
	at := m.get(providerKey, nameKey)
	return m.one(at, "no cloud provider is set, and the cluster had one: nodes lose the names from EC2 and register as new Nodes, and no manager runs the cloud controllers",
		"set cloud_provider to "+inTree+" before the switch, or to "+externalName+" after it")
}

// providerMixed compares the components, each of which has the same provider on all machines.
func (m *migration) providerMixed() []transform.Finding {
	var list []rules.Provided
	for _, service := range components {
		list = append(list, rules.Provided{What: service, Provider: m.component(service), At: m.near(m.get(servicesKey, service, argsKey))})
	}
	return rules.ProviderMixed.Check(list, m.Version)
}

func (m *migration) flagLeftOnKCM() []transform.Finding {
	return rules.FlagLeftOnKCM.Check(m.argsOf(manager), m.component(manager))
}

// The first releases with external-aws (rancher/rke, rancher/rancher).
const (
	needsRKE        = "external-aws needs RKE 1.4.15, or 1.5.0 and later"
	knowExternalAWS = "2.7.11, or 2.8.0 to 2.11"
)

// rancherUnfit finds a Rancher that does not know external-aws.
func (m *migration) rancherUnfit(at yamledit.Node, v ranchers.Version) []transform.Finding {
	const say = "set --rancher-version to the one that applies the change"
	switch {
	case !v.Known:
		return m.one(at, "external-aws needs Rancher "+knowExternalAWS+", and Rancher "+m.target.RancherVersion+" is none that is known", say)
	case v.ExternalAWS == "":
		return m.one(at, "Rancher "+m.target.RancherVersion+" provisions no RKE clusters: 2.12 removed RKE", "migrate with Rancher "+knowExternalAWS+"; "+say)
	case !v.Since(v.ExternalAWS):
		return m.one(at, "external-aws needs Rancher "+knowExternalAWS+", and "+m.target.RancherVersion+" is older", "upgrade Rancher first")
	}
	return nil
}

func (m *migration) rkeTooOld() []transform.Finding {
	if !m.isOnAWS() {
		return nil
	}
	at := m.get(providerKey, nameKey)
	rke, rancher := m.target.RKEVersion, m.target.RancherVersion
	switch {
	case rke != "" && !k8s.AtLeastOf(rke, "v1.4.15", "v1.5.0"):
		return m.one(at, needsRKE+", and --rke-version is older", "upgrade RKE first")
	case rancher != "":
		return m.rancherUnfit(at, ranchers.Of(rancher))
	case rke != "":
		return nil
	}
	found := m.one(at, needsRKE+"; in Rancher, "+knowExternalAWS, "check which one runs, and set --rke-version or --rancher-version")
	found[0].Severity = transform.Note
	return found
}
