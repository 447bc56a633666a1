// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// argumentRules are those about the arguments of a manager.
func argumentRules() []rule {
	return []rule{
		{Rule: rules.CCMArgsUnsafe.Rule.WithGuards(rules.ImageMoves...).WithDoc(
			"Routes of the cloud-controller-manager are on without --cluster-cidr, and it exits when it acquires the lease."),
			Check: func(m *migration, found *transform.Findings) {
				if m.Component == cloudManager && ccm.RoutesUnsafe(m.arguments.List()) {
					found.At(m.argumentsAt(), rules.RoutesUnsafe, rules.RoutesFix)
				}
			}},
		// It is about the manifest of the cloud-controller-manager next to that of an
		// in-tree kube-controller-manager.
		{Rule: rules.CCMFlagMissing.Rule, Check: func(m *migration, found *transform.Findings) {
			inTreeRuns := slices.ContainsFunc(m.members, func(o *migration) bool {
				name, _ := o.provider()
				return o.Component == kubeManager && name == inTree
			})
			if m.Component == cloudManager && !m.on(leaderFlag) && inTreeRuns {
				rules.SecondOwner(transform.FindingAt(m.argumentsAt(), "", "add --"+leaderFlag+" to its arguments, as the stage install-ccm does"), m.target, found)
			}
		}},
		// It is about an external kube-controller-manager; its counterpart is
		// another document.
		{Rule: inOtherManifest(rules.CCMNotInFile), Check: func(m *migration, found *transform.Findings) {
			if _, at := m.provider(); m.isExternal() && !m.Manager().Exists() {
				rules.NotInFile(at, "or add its manifest to the command", found)
			}
		}},
		{Rule: rules.CCMMinorSkew.Rule.WithDoc(
			"The image of the cloud-controller-manager is of 1.28 or later, and it migrates without a LeaderMigrationConfiguration of its own. Services and routes then run in both managers."),
			Check: func(m *migration, found *transform.Findings) {
				if at, _ := m.versionAt(); m.Component == cloudManager && rules.Renamed(m.arguments.List(), m.Version) {
					found.At(at, "an image of 1.28 or later has other controller names than its default configuration of leader migration, so services and routes run in both managers", "use an image of the cluster's minor, or add a configuration: --leader-migration-config generate")
				}
			}},
		{Rule: rules.ConfigNotMounted.WithDoc(
			"--leader-migration-config names a file that no volume mounts into the container, and the manager exits."),
			Check: func(m *migration, found *transform.Findings) {
				a, named := m.flag(configFlag)
				if !named || m.mounted(a.Value) || m.Kind == kindConfiguration && kubeadmMounts(a.Value) {
					return
				}
				found.At(a.Node(), "no volume mounts the file of --"+configFlag+" into the container, and "+m.Component+" exits", "mount it read-only, from a hostPath of type File or from a ConfigMap")
			}},
		{Rule: rules.ConfigWithoutFlag.Rule.WithDoc(
			"--leader-migration-config is set without --enable-leader-migration, and is silently ignored."),
			Check: func(m *migration, found *transform.Findings) {
				if a, idle := rules.IdleConfig(m.arguments.List()); idle {
					found.At(a.Node(), "the manager ignores --"+configFlag+" without --"+leaderFlag, "add --"+leaderFlag+", or remove this argument with its mount and its volume")
				}
			}},
		{Rule: rules.InTreeGone.WithGuards(rules.FlagEdits...), Check: func(m *migration, found *transform.Findings) {
			name, at := m.provider()
			if m.Component != cloudManager && name == inTree && rules.IsInTreeGone(m.move(), m.stage) {
				rules.FindInTreeProvider(at, m.move(), found)
			}
		}},
		{Rule: rules.NodeRename.WithDoc(
			"With the in-tree provider the name of a Node is the private DNS name of EC2, regardless of --hostname-override. An external kubelet uses the host name or the override, and a node whose name changes registers as a new Node. --end-state accepts it. Before the switch it is a warning."), Check: (*migration).nodeRename},
		{Rule: transform.Rule{ID: leadermigration.RuleNodeIPAM, Severity: transform.Error, Guards: rules.BothManagers,
			Doc: "nodeipam moves to the cloud-controller-manager of AWS, which has no such controller: no new node gets its pod CIDR.", Reason: leadermigration.NoNodeIPAM},
			Check: func(m *migration, found *transform.Findings) {
				if m.Component == cloudManager {
					if m.target.NodeIPAM && m.isAWS() {
						found.At(m.argumentsAt(), "the cloud-controller-manager of AWS has no controller "+nodeIPAM+", which this migration would move to it", "leave out --nodeipam")
					}
					return
				}
				if a, set := m.flag(leadermigration.ControllersFlag); set && slices.Contains(strings.Split(a.Value, ","), "-"+nodeIPAM) && m.on("allocate-node-cidrs") {
					found.At(a.Node(), "kube-controller-manager must assign pod CIDRs to nodes (--allocate-node-cidrs) but does not run "+nodeIPAM+", which the cloud-controller-manager of AWS does not have", "remove -"+nodeIPAM+" from the list")
				}
			}},
		// It compares the documents of a cluster, with its first one.
		{Rule: rules.ProviderMixed.WithGuards(rules.BeforeSwitch...), Check: func(m *migration, found *transform.Findings) {
			if m.Doc != m.members[0].Doc {
				return
			}
			var list []rules.Provided
			for _, o := range m.members {
				if name, at := o.provider(); o.Component != cloudManager {
					list = append(list, rules.Provided{What: o.Component + " in " + o.Doc.File(), Provider: name, At: at})
				}
			}
			rules.Mixed(list, m.Version, found)
		}},
		{Rule: rules.ProviderRemoved.WithDoc(
			"kube-controller-manager has leader migration on and no --cloud-provider: it holds the migration lease and runs no cloud controllers."),
			Check: func(m *migration, found *transform.Findings) {
				if name, at := m.provider(); m.Component == kubeManager && name == "" && m.on(leaderFlag) {
					found.At(at, "leader migration is on and no --"+providerFlag+" is set: kube-controller-manager holds the migration lease and runs no cloud controllers", "set --"+providerFlag+"="+inTree+" until the switch, or remove --"+leaderFlag)
				}
			}},
		// It uses the name of the file: its folder is not read.
		{Rule: transform.Rule{ID: "backup-in-manifest-folder", Severity: transform.Warning, Guards: rules.OfManagers,
			Doc: "The file of a static pod is named like a backup. The kubelet starts every file in its folder, except those that start with a dot. A copy runs a second manager."}.Because(
			"The kubelet starts every file in the folder, so that the copy runs a second manager with the old flags.", "kubernetes/kubernetes pkg/kubelet/config/file_linux.go", "Move the copy to another folder.", "If the folder is not the one of a kubelet."),
			Check: func(m *migration, found *transform.Findings) {
				name := path.Base(strings.ReplaceAll(m.Doc.File(), `\`, "/"))
				if m.Kind != kindPod || strings.HasPrefix(name, ".") || !backupForm.MatchString(name) {
					return
				}
				found.At(m.Root, "the file is named like a backup; in the folder of a kubelet it runs a second "+m.Component, "keep copies in another folder")
			}},
		{Rule: rules.NotMigratable.WithDoc(
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, a static pod that RKE2 writes, or Kubernetes below 1.22."), Check: (*migration).notMigratable},
	}
}

// backupForm is what editors, packages and people append to the name of a file.
var backupForm = regexp.MustCompile(`(?i)(^|[-._])(bak|backup|copy|old|orig|original|save|saved|dpkg-dist|rpmsave)([-._]|\d|$)|~$`)

// kubeadmMounts reports whether kubeadm mounts a path into every static pod of
// kube-controller-manager.
func kubeadmMounts(file string) bool {
	return strings.HasPrefix(file, "/etc/kubernetes/pki/") || strings.HasPrefix(file, "/etc/ssl/certs/")
}

// Components is the manager, if a rule is about it. Its permission is in another document: files
// without any permissions, such as a folder of static pods, tell nothing. Of timings the first manifest has all managers.
func (m *migration) Components(rule string) []rules.Component {
	if ofKube := slices.Contains([]string{rules.CloudControllersOff.ID, rules.FlagLeftOnKCM.ID, rules.LeaseGrantMissing.ID}, rule); ofKube && m.Component != kubeManager {
		return nil
	}
	if rule == rules.LeaseGrantMissing.ID && (len(m.related) == 0 || leadermigration.Granted(m.related, m.target.Lease())) {
		return nil
	}
	if rule == rules.LeaseTimingsUnsafe.ID {
		if m.Doc != m.members[0].Doc {
			return nil
		}
		return lists.Map(m.members, func(o *migration) rules.Component { return o.component(m.stage) })
	}
	return []rules.Component{m.component(m.stage)}
}

// Charts are none: manifests have their manager themselves.
func (m *migration) Charts(string) []rules.Chart { return nil }

func (m *migration) component(stage string) rules.Component {
	provider, _ := m.provider()
	return rules.Component{Name: m.Component, Args: m.arguments.List(), Provider: provider, Version: m.move().Reached(), Stage: stage, Target: m.target}
}

// isAWS reports whether the manager is that of AWS.
func (m *migration) isAWS() bool {
	name, _ := m.provider()
	return name == inTree || name == ""
}
