// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"
	"strings"
	"sync"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleMetadataUnset is also a choice: accepting it leaves the names to the operator.
const ruleMetadataUnset = "metadata-hostname-unset"

// ruleTable is the one table of RKE's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.DuplicateCluster}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
	}
	return transform.Table(refusals, sharedRules(), clusterRules(), argumentRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM,
		rules.FlagOnExternalGate, rules.FlagUnknown, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe, rules.StorageClassInTree,
		rules.CCMFlagMissing.WithGuards(rules.BothManagers...), rules.LeaderElectionOff.WithGuards(rules.FlagEdits...),
		rules.CCMArgsUnsafe.WithDoc(
			"Addons or the values file run a cloud-controller-manager that exits because of its arguments: routes are on without --cluster-cidr, or --cloud-provider is not aws."),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the image in the values file is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
		rules.ChartUnpinned.WithDoc(
			"The values file names no image tag, so that a new version of the chart changes the cluster."),
		rules.ConfigWithoutFlag.WithGuards(rules.FlagEdits...).WithDoc(
			"kube-controller-manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
	)
}

// clusterRules are those about the cluster, its nodes, and what runs them.
func clusterRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "aws-block-resets", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "The block awsCloudProvider is set with external-aws: RKE selects the provider by the block and changes it back to aws."}.Because(
			"RKE chooses the provider by the block, and overwrites external-aws with aws.", transform.SourceRKE, "Remove awsCloudProvider; its settings go to the manager with --cloud-config.", "Never with external-aws."),
			Check: func(m *migration, found *transform.Findings) {
				if block := m.get(providerKey, awsKey); m.isNamedExternal() && block.Exists() {
					found.At(block, "RKE selects the provider by this block and changes "+externalName+" back to aws", "apply the stages: the cluster is in-tree, and the switch removes the block and keeps its settings")
				}
			}},
		// It checks what addons run: a release of Helm never shows.
		rules.By(rules.CCMNotInFile, func(m *migration) []rules.Absent {
			return lists.If(m.lacksManager(), rules.Absent{At: m.near(m.get(providerKey, nameKey)), Or: "if none runs, install the chart as in the plan"})
		}),
		// It checks a file that the manager names itself: no one but the
		// operator knows what is in it.
		rules.By(rules.CloudConfigLost.WithDoc(
			"The provider has a configuration, which an external provider ignores. A note for cloud_provider, which the stages copy to the cloud-controller-manager. An error for a file in the arguments of kube-controller-manager, which they do not copy."),
			func(m *migration) []rules.Ignored {
				a, _ := args.Last(m.argsOf(manager), "cloud-config")
				own := yamledit.First(m.get(providerKey, customKey), m.near(m.get(providerKey, awsKey)))
				return append(lists.If(a.Value != "", rules.Ignored{At: a.Node(), Why: ", and the stages cannot read it"}),
					lists.If(m.cloudConfig() != "" && !m.isExternal(), rules.Ignored{At: own, Carried: true})...)
			}),
		// It is about the provider's name, or else an argument of a component.
		{Rule: rules.InTreeGone, Check: func(m *migration, found *transform.Findings) {
			image := m.get(imagesKey, kubernetesKey)
			if m.provider() == inTree && !m.isExternal() && rules.FindInTreeImage(image, found) || !rules.IsInTreeGone(m.move(), m.Stage) {
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
		}},
		{Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, the name external included, or Kubernetes below 1.22. A cluster for Windows is a warning."),
			Check: func(m *migration, found *transform.Findings) {
				if n := m.windowsCluster(); n.Exists() {
					found.At(n, "the cluster is for Windows machines", "plan for their restart, and verify them manually").Severity = transform.Warning
				}
				found.Add(transform.NotMigratableIn(m.checkProvider())...)
			}},
		{Rule: transform.Rule{ID: "rke-template", Severity: transform.Error, Guards: rules.EveryEdit,
			Doc: "The object names the revision of an RKE template: Rancher's API takes the configuration from there, so an edit of the cluster is lost."}.Because(
			"Rancher's API sets the configuration of such a cluster from the template and its answers.", "rancher/rancher pkg/api/norman/store/cluster/cluster_store.go: loadDataFromTemplate", "Make the change in a revision of the template.", "If the change is made in the template as well."),
			Check: func(m *migration, found *transform.Findings) {
				for _, path := range [][]string{{"spec", "clusterTemplateRevisionName"}, {"clusterTemplateRevisionId"}} {
					if at := m.Doc.Root().Get(path...); m.Wrapped && at.Exists() && !at.IsNull() {
						found.At(at, "the configuration comes from an RKE template, and an edit of the cluster is lost", "make the change in a revision of the template, or accept this if the cluster no longer uses it")
					}
				}
			}},
		// It compares the components, each of which has the same provider on all machines.
		rules.By(rules.ProviderMixed, func(m *migration) []rules.Provided {
			return lists.Map(components, func(service string) rules.Provided {
				return rules.Provided{What: service, Provider: m.component(service), At: m.near(m.get(servicesKey, service, argsKey)), Version: m.Version}
			})
		}),
		// It searches for what only a cluster with a provider has: RKE's own example
		// has an empty name as well.
		{Rule: rules.ProviderRemoved.WithDoc(
			"No cloud provider is set, and the file shows that the cluster had one: leader migration, a cloud-controller-manager in addons, or useInstanceMetadataHostname. Without a provider nodes lose the names from EC2 (rancher/rancher #22851)."),
			Check: func(m *migration, found *transform.Findings) {
				if _, runs := rules.Workload(m.Bundle()); m.provider() == "" && (runs || m.migrates() || m.usesMetadata()) {
					found.At(m.near(m.get(providerKey, nameKey)), "no cloud provider is set, and the cluster had one: nodes lose the names from EC2 and register as new Nodes, and no manager runs the cloud controllers",
						"set cloud_provider to "+inTree+" before the switch, or to "+externalName+" after it")
				}
			}},
		rules.By(rules.ControlPlanesAtOnce, (*migration).restart),
		{Rule: transform.Rule{ID: "metadata-hostname-conflict", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "useInstanceMetadataHostname is true and a node has a hostname_override of its own: only one of the two can set its name."}.Because(
			"One node would have two names: the one of the metadata service, and hostname_override.", transform.SourceRKE, "Remove one of the two.", "If the override equals the name of the metadata service."),
			Check: func(m *migration, found *transform.Findings) {
				for i, n := range m.Read.Nodes {
					if m.usesMetadata() && hasOwnName(n) {
						found.At(m.near(m.node(i, "hostname_override")), metadataKey+" is true, so RKE ignores this name, and the node gets the name from the instance metadata", "keep one of the two: remove the name, or set "+metadataKey+": false where every node has its private DNS name here")
					}
				}
			}},
		// It checks clusters that are external: before, the switch decides.
		{Rule: transform.Rule{ID: ruleMetadataUnset, Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "The provider is external-aws, and neither useInstanceMetadataHostname nor a hostname_override names a node: it loses the name from EC2 and registers as a new Node. If you accept the rule, the switch does not set the former."}.Because(
			"The node loses the name that it has from EC2, and registers as a new Node.", transform.SourceRKE, "Set useInstanceMetadataHostname: true, as the switch does.", "For machines that were registered with their own --node-name; then the switch does not set it."),
			Check: func(m *migration, found *transform.Findings) {
				if !m.isNamedExternal() || m.usesMetadata() || !m.lacksOwnName() || m.Target.HostNames.Equal() {
					return
				}
				fix := upgradeForMetadata
				switch {
				case m.ownNames():
					fix = "give every node its private DNS name as hostname_override, or none of them and set " + metadataKey + ": true"
				case metadataSupported(m.move().Reached()):
					fix = "set " + metadataKey + ": true, if the nodes still have the names from EC2"
				}
				found.At(m.near(m.get(providerKey, metadataKey)), "nothing keeps the names of the nodes from EC2: kubelets use their address or host name, and register as new Nodes", fix)
			}},
		{Rule: transform.Rule{ID: "metadata-hostname-unsupported", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "useInstanceMetadataHostname is true on a release whose kubelet cannot read its name from the metadata: below 1.25.14, 1.26.9 or 1.27.6."}.Because(
			"The kubelet of this release has no reader of the metadata, and does not start.", "rancher/rke-tools v0.1.95; "+transform.SourceRKE, "Upgrade to 1.25.14, 1.26.9 or 1.27.6 first.", "If the images of rke-tools were replaced by later ones."),
			Check: func(m *migration, found *transform.Findings) {
				if m.usesMetadata() && !metadataSupported(m.move().Reached()) {
					found.At(m.near(m.get(providerKey, metadataKey)), "the kubelets of this release cannot read their names from the instance metadata", upgradeForMetadata)
				}
			}},
		// It depends on how RKE finds a node under external-aws (rancher/rke
		// #3445): by its name, or by its internal address, which is its address where it
		// has none.
		{Rule: transform.Rule{ID: "node-address-missing", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "A node has neither internal_address nor a hostname_override of its own, and with external-aws RKE finds it by one of the two. A warning if its address is a private one, which RKE uses instead."}.Because(
			"With external-aws RKE finds a node by its internal address or its override, and fails without.", "rancher/rke #3445", "Set internal_address.", "If the address is the internal one, where it is a warning."),
			Check: func(m *migration, found *transform.Findings) {
				for i, n := range m.Read.Nodes {
					if n.InternalAddress != "" || hasOwnName(n) || !m.ofProvider() {
						continue
					}
					f := found.At(m.near(m.node(i, "address")), "the node has no internal_address, and under "+externalName+" RKE finds it by its address, which must be the internal one of the node", "set internal_address, or its private DNS name as hostname_override")
					if isPrivate(n.Address) {
						f.Severity = transform.Warning
					}
				}
			}},
		{Rule: transform.Rule{ID: "rke-too-old", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "external-aws needs RKE 1.4.15 or 1.5.0, or Rancher 2.7.11 or 2.8.0 to 2.11: 2.12 removed RKE. A note unless --rke-version or --rancher-version names one."}.Because(
			"An RKE that does not know external-aws refuses the file.", "rancher/rke releases v1.4.15 and v1.5.0; rancher/rancher v2.7.11 and v2.8.0", "Upgrade RKE or Rancher, and set --rke-version or --rancher-version.", "If the version that applies the file was checked."),
			Check: func(m *migration, found *transform.Findings) {
				if !m.ofProvider() {
					return
				}
				at := m.near(m.get(providerKey, nameKey))
				rke, rancher := m.Target.RKEVersion, m.Target.RancherVersion
				switch {
				case rke != "" && !k8s.Since("v"+strings.TrimPrefix(rke, "v"), "v1.4.15"):
					found.At(at, needsRKE+", and --rke-version is older", "upgrade RKE first")
				case rancher != "":
					m.rancherUnfit(found, at, k8s.RancherOf(rancher))
				case rke == "":
					found.At(at, needsRKE+"; in Rancher, "+knowExternal, "check which one runs, and set --rke-version or --rancher-version").Severity = transform.Note
				}
			}},
		{Rule: rules.ConfigNotMounted.WithGuards(rules.FlagEdits...).WithDoc(
			"leader-migration-config of kube-controller-manager names a file outside of /etc/kubernetes that no entry of extra_binds mounts, and the manager exits."), Check: (*migration).configNotMounted},
	}
}

// upgradeForMetadata is what to do on a release that cannot take names from the
// metadata.
const upgradeForMetadata = "upgrade to 1.25.14, 1.26.9, 1.27.6 or later first, or in the switch with --target-version; or give every node its private DNS name as hostname_override"

// node returns a part of a node, or the node where it lacks it.
func (m *migration) node(i int, key string) yamledit.Node {
	item := m.get(nodesKey).Items()[i]
	return yamledit.First(m.spelling.get(item, key), item)
}

func (m *migration) windowsCluster() yamledit.Node {
	for _, key := range []string{"windows_prefered_cluster", "windowsPreferedCluster"} {
		for _, path := range parents {
			if n := m.Doc.Root().Get(slices.Concat(path, []string{key})...); n.Value() == true {
				return n
			}
		}
	}
	return yamledit.Node{}
}

// near returns a node, or what holds it where it is not there.
func (m *migration) near(at yamledit.Node) yamledit.Node {
	return yamledit.First(at, m.get(providerKey), m.Config)
}

// ofProvider reports whether the cluster is one to migrate, or was: lint also reads
// others.
func (m *migration) ofProvider() bool { return m.provider() == inTree || m.provider() == externalName }

// isNamedExternal reports whether the file says external-aws, whatever RKE makes
// of it.
func (m *migration) isNamedExternal() bool { return m.Read.CloudProvider.Name == externalName }

// Charts are the values file, if there is one. No stage before install-ccm, which puts it right, waits
// for it.
func (m *migration) Charts(string) []rules.Chart {
	if m.file == nil || rules.BeforeChart(m.Stage, m.Target) {
		return nil
	}
	label, _, _ := strings.Cut(controlPlaneNodeLabel, "=")
	return []rules.Chart{{
		Chart: *m.file, Format: Name, Release: m.Version, External: m.isExternal(), Target: m.Target,
		Nodes: m.chartNodes, Label: label, At: m.valuesFinding,
	}}
}

// The first releases with external-aws (rancher/rke, rancher/rancher).
const (
	needsRKE     = "external-aws needs RKE 1.4.15, or 1.5.0 and later"
	knowExternal = "2.7.11, or 2.8.0 to 2.11"
)

// rancherUnfit finds a Rancher that does not know external-aws.
func (m *migration) rancherUnfit(found *transform.Findings, at yamledit.Node, v k8s.Rancher) {
	const retry = "set --rancher-version to the one that applies the change"
	switch {
	case !v.Known:
		found.At(at, "external-aws needs Rancher "+knowExternal+", and Rancher "+m.Target.RancherVersion+" is none that is known", retry)
	case v.ExternalProvider == "":
		found.At(at, "Rancher "+m.Target.RancherVersion+" provisions no RKE clusters: 2.12 removed RKE", "migrate with Rancher "+knowExternal+"; "+retry)
	case !v.Since(v.ExternalProvider):
		found.At(at, "external-aws needs Rancher "+knowExternal+", and "+m.Target.RancherVersion+" is older", "upgrade Rancher first")
	}
}

// argumentRules are those about the arguments of components.
func argumentRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "extra-args-type", Severity: transform.Error, Guards: rules.EveryEdit,
			Doc: "A value in extra_args is not a string. Rancher's API rejects it; RKE itself accepts it, so it is a note in a cluster.yml."}.Because(
			"Rancher's API takes only strings and refuses the object.", "rancher/rke types: ExtraArgs is a map of strings", "Quote the value; `rke-lm lint --fix` does so.", "In a cluster.yml, where RKE reads it."),
			Check: func(m *migration, found *transform.Findings) {
				for _, a := range m.unquoted() {
					f := found.At(a.Node(), "the value of an argument must be a string; Rancher's API rejects other types", "quote it")
					if m.spelling == snake {
						f.Message, f.Severity = "the value of an argument must be a string; RKE itself accepts this one, and Rancher's API rejects it", transform.Note
					}
				}
			}, Fix: (*migration).quoteExtraArgs},
		{Rule: rules.UnknownConfigKey.WithDoc(
			"A service in a cluster.yml is written with an underscore (kube_controller), as in Rancher's templates; RKE itself ignores it."),
			Check: func(m *migration, found *transform.Findings) {
				for _, n := range m.underscored() {
					found.At(n, "this is not a service of RKE, so everything below it is ignored", "write "+dashed(n.Key()))
				}
			}, Fix: (*migration).spellServices},
	}
}

// unquoted returns the flags whose values are booleans or numbers.
func (m *migration) unquoted() []args.Arg {
	var found []args.Arg
	for _, service := range m.get(servicesKey).Entries() {
		for _, key := range []string{argsKey, winArgsKey} {
			for _, a := range args.OfMap(m.spelling.get(service.Value, key)) {
				switch a.Node().Value().(type) {
				case bool, float64:
					found = append(found, a)
				}
			}
		}
	}
	return found
}

func (m *migration) quoteExtraArgs() []transform.Correction {
	return lists.Map(m.unquoted(), func(a args.Arg) transform.Correction {
		return func(e *yamledit.Edit) { e.Set(a.Node(), a.Value) }
	})
}

// underscored returns the services of a cluster.yml that RKE does not read.
func (m *migration) underscored() []yamledit.Node {
	if m.Wrapped {
		return nil
	}
	found := lists.Where(m.get(servicesKey).Entries(), func(e yamledit.Entry) bool { return e.Key == "kube_controller" || e.Key == "kube_api" })
	return lists.Map(found, func(e yamledit.Entry) yamledit.Node { return e.Value })
}

func dashed(key string) string { return strings.ReplaceAll(key, "_", "-") }

func (m *migration) spellServices() []transform.Correction {
	return lists.Map(m.underscored(), func(n yamledit.Node) transform.Correction {
		return func(e *yamledit.Edit) { e.Rename(n, dashed(n.Key())) }
	})
}

// gateServices are the components that read feature gates, with their own names.
var gateServices = [][2]string{{apiService, "kube-apiserver"}, {manager, leadermigration.Manager}, {scheduler, "kube-scheduler"}, {kubelet, "kubelet"}, {proxy, "kube-proxy"}}

// Components are those that a shared rule checks: each that reads feature gates, or kube-controller-manager.
func (m *migration) Components(rule string) (list []rules.Component) {
	alone := true
	switch rule {
	case rules.LeaderElectionOff.ID:
		if m.isExternal() {
			return nil // the other manager is the one that takes part
		}
	case rules.LeaseGrantMissing.ID:
		if m.Bundle().Grants() {
			return nil // what addons_include names is not in the file
		}
	case rules.CCMFlagMissing.ID, rules.CloudControllersOff.ID, rules.ConfigWithoutFlag.ID, rules.FlagLeftOnKCM.ID, rules.LeaseTimingsUnsafe.ID:
	default:
		alone = false
	}
	for _, s := range gateServices {
		if !alone || s[0] == manager {
			list = append(list, rules.Component{Name: s[1], Args: m.argsOf(s[0]), Provider: m.component(s[0]), Version: m.move().Reached(), Stage: m.Stage, Target: m.Target})
		}
	}
	if rule == rules.LeaseTimingsUnsafe.ID {
		return append(list, m.cloudManagers()...)
	}
	return list
}

// cloudManagers are those that ask for leases. One of addons or of the values file may run already, so its timings count
// after every stage.
func (m *migration) cloudManagers() []rules.Component {
	list := rules.WorkloadComponents(m.Bundle(), m.Target)
	if m.file != nil {
		list = append(list, rules.Component{Name: leadermigration.CloudManager, Args: m.file.Placed(), Version: m.file.ImageMinor(), Target: m.Target})
	}
	return list
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.Stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.Target.Accept)
}

// Fixes implements transform.Fixer.
func (m *migration) Fixes() []transform.Fix { return transform.FixesOf(ruleTable(), m) }
