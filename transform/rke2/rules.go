// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rule is a row of the table.
type rule = transform.Checked[*migration]

// ruleTable is the one table of RKE2's static rules, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.ChangedByOverlay}, {Rule: rules.DuplicateCluster}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
	}
	return transform.Table(refusals, sharedRules(), clusterRules(), chartRules(), layerRules(), argumentRules(), configurationObjectRules(), configurationTextRules())
})

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CCMFlagMissing, rules.CCMUnschedulable, rules.CSIGateStale, rules.CloudControllersOff, rules.FlagOnExternalGate,
		rules.FlagUnknown, rules.LeaderElectionOff, rules.LeaseGrantMissing, rules.LeaseTimingsUnsafe, rules.StorageClassInTree,
		rules.FlagLeftOnKCM.WithGuards(rules.FlagLeaves...),
		rules.ConfigWithoutFlag.WithDoc(
			"A manager has leader-migration-config without enable-leader-migration, and silently ignores the configuration."),
		rules.CCMArgsUnsafe.WithDoc(
			"With its arguments the cloud-controller-manager exits when it acquires the lease: routes are on without --cluster-cidr, --cloud-provider=aws is missing from the list, or service account credentials are used without permission to get service accounts."),
		rules.CCMMinorSkew.WithGuards(rules.ImageMoves...).WithDoc(
			"The minor of the cloud-controller-manager's image is not the cluster's. From 1.28 on the image also needs a LeaderMigrationConfiguration of its own, or services and routes run in both managers."),
	)
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.Stage = stage
	checked.inConfigs = sync.OnceValue(checked.configFindings)
	return transform.FindingsOf(ruleTable(), &checked, stage, m.Target.Accept)
}

// Fixes implements transform.Fixer.
func (m *migration) Fixes() []transform.Fix { return transform.FixesOf(ruleTable(), m) }

// clusterRules are those about what the stages change and what they rest on.
func clusterRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "apiserver-flag-removed", Severity: transform.Error, Guards: rules.NewRelease,
			Doc: "kube-apiserver-arg has cloud-provider or cloud-config, flags that Kubernetes 1.33 removed from kube-apiserver. switch-to-external removes them."}.Because(
			"kube-apiserver 1.33 does not know the flag and exits, so the control plane does not start after the upgrade.", "kubernetes/kubernetes CHANGELOG/CHANGELOG-1.33.md: --cloud-provider of kube-apiserver is removed", "Remove cloud-provider from kube-apiserver-arg before the upgrade.", "Never on a cluster that goes to 1.33; only if the file describes a cluster that stays below it."),
			Check: func(m *migration, found *transform.Findings) {
				for _, a := range m.removedArgs() {
					found.At(a.Node(), "kube-apiserver "+semver.MajorMinor(m.move().Reached())+" has no flag --"+a.Name+" and does not start", "apply "+stages.SwitchToExternal+", which removes it; or remove the argument")
				}
			}},
		rules.By(rules.ControlPlanesAtOnce, (*migration).restart),
		// It checks what makes components in-tree; on late releases the provider's
		// name only names nodes.
		{Rule: rules.InTreeGone, Check: func(m *migration, found *transform.Findings) {
			if !rules.IsInTreeGone(m.move(), m.Stage) {
				if len(m.inTreeNodes()) > 0 {
					for _, at := range append(m.Winners("kube-controller-manager-image", anyClass), m.Winners("runtime-image", anyClass)...) {
						rules.FindInTreeImage(at, found)
					}
				}
				return
			}
			for _, n := range m.inTreeNodes() {
				if n.Key() == providerKey && m.onlyNamesNodes() {
					found.At(n, "RKE2 "+m.Version+" reads the node's name from the instance metadata here, and passes a cloud provider to no component: the cluster has no cloud controllers",
						"apply the stages that rke-lm plan shows for this release: they install a cloud-controller-manager and keep the names of nodes; see docs/past-1.26.md")
				} else {
					rules.FindInTreeProvider(n, m.move(), found)
				}
			}
		}},
		{Rule: transform.Rule{ID: "node-name-shared", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "The user data of a machine pool has a literal hostname or fqdn: with external all its machines register under one name. Checked with --end-state external, where the Amazonec2Config is in the same folder or stream, or can be read from a live Rancher."}.Because(
			"The kubelets of all machines of the pool register the same Node, and RKE2 rejects all but the first.", transform.SourceNodeNames, "Remove hostname and fqdn from the user data of the pool, or choose aws-override.", "If the pool has one machine, and never another one next to it."), Check: (*migration).nodeNameShared},
		{Rule: rules.NodeRename.WithDoc(
			"With the provider aws RKE2 takes the names of nodes from the instance metadata, with external the kubelet uses the host name. A node whose name changes registers as a new Node. An error if external is chosen for machine pools, which have other host names, or where host names are known to differ. For Windows machines up to 1.29.10, 1.30.6 and 1.31.2 an error with any end state. Elsewhere an error until an end state is chosen, or --host-names shows that all names are equal. Also an error if workers are external and control planes are not. Before the switch it is a warning. A note shows which end state the stages take, and why."), Check: (*migration).nodeRename},
		{Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: rkeConfig is null, a K3s version, the cluster local, no cloud provider or another one than aws, or Kubernetes below 1.22. Windows machines are a warning."),
			Check: func(m *migration, found *transform.Findings) {
				for _, class := range m.Classes {
					if class.Windows() {
						found.At(class.Pool, "these machines run Windows", "plan for their restart, and verify them manually").Severity = transform.Warning
					}
				}
				found.Add(transform.NotMigratableIn(cmp.Or(m.checkProvider(), m.checkCloud()))...)
			}},
		rules.By(rules.ProviderMixed, func(m *migration) (list []rules.Provided) {
			for _, key := range componentArgs {
				of := lists.Map(m.Kinds, func(class effective.Class) rules.Provided {
					return rules.Provided{Provider: m.Effective(class).Provider(key), At: m.Effective(class).ProviderOrigin(key), Version: m.Version}
				})
				for _, class := range m.Classes {
					if one := of[class.Kind()]; class.Runs(key) {
						one.What = strings.TrimSuffix(key, "-arg") + " on " + class.Name
						list = append(list, one)
					}
				}
			}
			return list
		}),
		// It finds clusters that show a migration and have no provider, and
		// warns of a name that is set to nothing: Rancher's interface writes that where a
		// provider is taken away, and also where there never was one. A cluster whose
		// components are all external by their own arguments, with the stub turned off,
		// needs no name.
		{Rule: rules.ProviderRemoved.WithDoc(
			"A cluster with signs of a migration to the external provider has no cloud-provider-name: RKE2 then starts its own stub, which gives nodes the provider ID rke2://. A warning if the name is empty and there is no sign of a migration: Rancher's UI writes this if a provider was removed, and if there was none."),
			Check: func(m *migration, found *transform.Findings) {
				for _, class := range m.ControlPlanes {
					config, won := m.Effective(class), m.Winner(class, providerKey)
					shows := m.showsMigration(config)
					needsNone := truthy(config[disableStub].Value) && config.Provider(managerArgs) == external && config.Provider(kubeletArgs) == external
					if config.Text(providerKey) != "" || needsNone || !shows && !won.Exists() {
						continue
					}
					at := yamledit.First(won, m.RKEConfig().Get("machineGlobalConfig"), m.RKEConfig())
					message := "no " + providerKey + " reaches the machines of class " + class.Name + ": RKE2 starts its stub cloud controller, which gives nodes the provider ID rke2://"
					if shows {
						found.At(at, message, "set "+providerKey+": external and "+disableStub+": true")
					} else {
						found.At(at, message+", and a node with a name from the instance metadata registers as a new Node",
							"nothing, if the cluster never had a provider; if it runs on AWS, write "+inTree+" or "+external+" here").Severity = transform.Warning
					}
					return
				}
			}},
		{Rule: transform.Rule{ID: "snapshot-missing", Severity: transform.Warning, Guards: rules.TheSwitch,
			Doc: "The cluster has no configuration for etcd snapshots, and some mistakes can only be reverted with a snapshot."}.Because(
			"Some mistakes can only be reverted by a restore of etcd, and there is no snapshot to restore.", "rancher docs: backing up a cluster", "Configure etcd snapshots, and take one before the switch.", "If snapshots are taken in another way."),
			Check: func(m *migration, found *transform.Findings) {
				etcd := m.RKEConfig().Get("etcd")
				if off, _ := etcd.Get("disableSnapshots").Value().(bool); off {
					found.At(etcd.Get("disableSnapshots"), "etcd snapshots are disabled", "enable them, or take one manually before every stage")
					return
				}
				for _, key := range []string{"snapshotScheduleCron", "snapshotRetention", "s3"} {
					if n := etcd.Get(key); n.Exists() && !n.IsNull() {
						return
					}
				}
				found.At(yamledit.First(etcd, m.RKEConfig()), "no etcd snapshots are configured", "set etcd.snapshotScheduleCron and etcd.snapshotRetention, or take one manually before every stage")
			}},
		// It checks control planes. Up to 1.35 any cloud-provider-name also turns
		// the stub off, from 1.36 on only the key does (rancher/rke2,
		// pkg/rke2/rke2_linux.go at v1.34.1 and v1.36.0).
		{Rule: transform.Rule{ID: "stub-ccm-enabled", Severity: transform.Error, Guards: slices.Concat(rules.TheChart, rules.NewRelease),
			Doc: "The provider is external without disable-cloud-controller: true, which prevents RKE2's stub cloud controller from giving nodes the provider ID rke2://; it must not run together with the cloud-controller-manager. A warning up to RKE2 1.35, where any cloud-provider-name also disables the stub."}.Because(
			"The stub and the AWS manager both initialize nodes; the one that comes first sets the provider ID, which cannot be changed.", "rancher/rke2 pkg/rke2/rke2_linux.go: up to 1.35 any provider name disables it, from 1.36 on only the key does", "Set disable-cloud-controller: true for control planes.", "Up to RKE2 1.35, where it is a warning."),
			Check: func(m *migration, found *transform.Findings) {
				// whether the provider's name turns the stub off for every control plane
				stops := !k8s.From(m.move().Reached(), "v1.36") && !m.anyControlPlane(func(c effective.Config) bool { return c.Text(providerKey) == "" })
				if m.Stage == stages.InstallCCM && stops {
					return // it does not run, and the switch writes the key
				}
				nodes := lists.Found(m.ControlPlanes, func(class effective.Class) (yamledit.Node, bool) {
					config := m.Effective(class)
					lacks := m.wantsNoStub(config, stops) && !truthy(config[disableStub].Value)
					return yamledit.First(config[disableStub].Origin, config.ProviderOrigin(managerArgs)), lacks
				})
				const fix = "set " + disableStub + ": true for the same machines"
				for _, n := range yamledit.Distinct(nodes) {
					if stops {
						found.At(n, "only "+providerKey+" disables RKE2's own stub cloud controller here; from RKE2 1.36 on it does not", fix).Severity = transform.Warning
					} else {
						found.At(n, "RKE2's own stub cloud controller is not disabled, and gives nodes the provider ID rke2://", fix)
					}
				}
			}},
		rules.By(rules.CCMNotInFile.WithGuards(rules.ChartRuns...), (*migration).absent),
		// It finds documents of additionalManifest that are one object
		// of the cluster: RKE2 applies them by their names, and the last one wins. An
		// edit of a stage cannot take a document out, which its proof makes sure of, but
		// a document that it adds could have the name of another.
		{Rule: transform.Rule{
			ID: "manifest-overwritten", Severity: transform.Error, Guards: rules.OfManifest,
			Doc: "Two documents of additionalManifest are the same object, so that the later one overwrites the earlier in the cluster: also two HelmCharts of the cloud-controller-manager, and a HelmChartConfig with the same name as chartValues.",
		}.Because("Of two documents for one object only the last one reaches the cluster; the other one is lost without an error.", "rancher/rancher: additionalManifest is one file, applied in order", "Merge the two documents, or remove one.", ""),
			Check: func(m *migration, found *transform.Findings) {
				docs, _ := m.manifests()
				first := map[string]int{}
				for i, d := range docs {
					id, isObject := objectOf(d.Root())
					if !isObject {
						continue
					}
					if earlier, twice := first[id]; twice {
						found.Add(m.Bundle().Finding(i, d.Root(), fmt.Sprintf("this document is the same object as document [%d] of the manifest and overwrites it in the cluster", earlier), "join the two, or rename one"))
						continue
					}
					first[id] = i
				}
				m.chartTwice(found)
			}},
		{Rule: transform.Rule{ID: "provider-in-selector", Severity: transform.Note, Guards: rules.TheSwitch,
			Doc: "An entry of machineSelectorConfig overrides cloud-provider-name of machineGlobalConfig; the switch edits the entry."}.Because(
			"The value that machines get is not the one in machineGlobalConfig: who edits that one changes nothing.", transform.SourcePlanner, "Nothing: the switch edits the entry that takes effect.", "Always; it informs."),
			Check: func(m *migration, found *transform.Findings) {
				for _, n := range m.Winners(providerKey, anyClass) {
					if s := n.StringAt(); (s == inTree || s == external) && !n.Same(m.Layers[0].Get(providerKey)) {
						found.At(n, "the provider is set here, not in machineGlobalConfig", "nothing: the switch edits this location")
					}
				}
			}},
	}
}

// objectOf identifies an object: its group, whatever the version, its kind,
// namespace and name.
func objectOf(root yamledit.Node) (id string, ok bool) {
	field := root.StringAt
	group, _, _ := strings.Cut(field("apiVersion"), "/") // that of the core has one version
	kind, name := field("kind"), field("metadata", "name")
	return strings.Join([]string{group, kind, field("metadata", "namespace"), name}, "\x00"), kind != "" && name != ""
}

// gateKeys are the arguments of the components that read feature gates.
var gateKeys = []string{kubeletArgs, "kube-proxy-arg", apiServerArgs, managerArgs, "kube-scheduler-arg"}

// Components are those that a shared rule checks, on any machine: each that reads feature gates, or the managers.
func (m *migration) Components(rule string) (list []rules.Component) {
	with := rules.Component{Version: m.move().Reached(), Stage: m.Stage, Target: m.Target}
	add := func(key string, at yamledit.Node, provider string) {
		with.Name, with.Args, with.Provider = strings.TrimSuffix(key, "-arg"), args.Place(at), provider
		list = append(list, with)
	}
	switch rule {
	case rules.CCMFlagMissing.ID, rules.CloudControllersOff.ID, rules.FlagLeftOnKCM.ID, rules.LeaseGrantMissing.ID, rules.LeaseTimingsUnsafe.ID:
		if rule == rules.LeaseGrantMissing.ID && m.Bundle().Grants() {
			return nil
		}
		for _, class := range m.ControlPlanes {
			config := m.Effective(class)
			add(managerArgs, config[managerArgs].Origin, config.Provider(managerArgs))
		}
		if rule == rules.LeaseTimingsUnsafe.ID {
			return append(list, m.cloudManagers()...)
		}
		return list
	case rules.ConfigWithoutFlag.ID, rules.LeaderElectionOff.ID:
		provider := ""
		if m.isExternal() {
			provider = external
		}
		for _, at := range m.Winners(managerArgs, effective.Class.ControlPlane) {
			add(managerArgs, at, provider)
		}
	default:
		for _, key := range gateKeys {
			runs := func(c effective.Class) bool { return key == "kube-proxy-arg" || c.Runs(key) }
			for _, at := range m.Winners(key, runs) {
				add(key, at, "")
			}
		}
	}
	for _, c := range m.Charts(rule) {
		version := c.ImageTag() // the manager that reads these gates
		if !semver.IsValid(version) {
			version = m.move().Reached()
		}
		list = append(list, m.managerOf(c, version))
	}
	if rule == rules.FlagUnknown.ID {
		m.leaveSlips(list)
	}
	return list
}

// managerOf is the manager that a chart runs.
func (m *migration) managerOf(c rules.Chart, version string) rules.Component {
	inArgs := func(n yamledit.Node, message, fix string) transform.Finding {
		return m.in(c.Chart, c.Decider(chartArgs), n, message, fix)
	}
	return rules.Component{Name: leadermigration.CloudManager, Args: c.Placed(), Version: version, Target: c.Target, Place: inArgs}
}

// cloudManagers are those that ask for leases. One that is in the file may run already, so its timings count after every
// stage.
func (m *migration) cloudManagers() []rules.Component {
	list := rules.WorkloadComponents(m.Bundle(), m.Target)
	for _, c := range m.known(rules.LeaseTimingsUnsafe.ID) {
		list = append(list, m.managerOf(c, c.ImageMinor()))
	}
	return list
}

// leaveSlips leaves out the slips of a migration's flags, which have a rule of their own.
func (m *migration) leaveSlips(list []rules.Component) {
	slipped := map[string]bool{}
	for _, s := range m.slippedArgs() {
		slipped[s.Node().Path()] = true
	}
	for i, c := range list {
		list[i].Args = slices.DeleteFunc(c.Args, func(a args.Arg) bool { return slipped[a.Node().Path()] })
	}
}

// anyClass is every one.
func anyClass(effective.Class) bool { return true }

// inTreeNodes returns what makes a component of any machine in-tree: the
// provider's name, or an argument of the component.
func (m *migration) inTreeNodes() []yamledit.Node {
	return yamledit.Distinct(lists.Flat(m.Kinds, func(class effective.Class) []yamledit.Node {
		config := m.Effective(class)
		return lists.Found(componentArgs, func(key string) (yamledit.Node, bool) {
			return config.ProviderOrigin(key), class.Runs(key) && m.knowsProvider(key) && config.Provider(key) == inTree
		})
	}))
}

// wantsNoStub reports whether RKE2's stub would meet another owner of the nodes:
// an external provider, or none where aws only names the nodes.
func (m *migration) wantsNoStub(config effective.Config, stopped bool) bool {
	provider := config.Provider(managerArgs)
	return provider == external || provider == inTree && m.onlyNamesNodes() && !stopped
}

// showsMigration reports whether a control plane's configuration, or the
// manifest, has what only a migration to the external provider leaves.
func (m *migration) showsMigration(config effective.Config) bool {
	return args.Has(args.Of(config[managerArgs].Value), leaderFlag) || m.Manager().Exists() || slices.ContainsFunc(componentArgs, func(key string) bool { return config.Provider(key) == external })
}
