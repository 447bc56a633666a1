// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ruleTable is the one table of the static rules of manifests, by their names.
var ruleTable = sync.OnceValue(func() []rule {
	refusals := []rule{ // made before there is a cluster to check
		{Rule: rules.ChangedByOverlay}, {Rule: transform.Encrypted}, {Rule: transform.Templated},
		{Rule: rules.DuplicateCluster.WithDoc(
			"Refused, with exit code 1: two folders of one kustomization or bundle of Fleet have an object with the same namespace and name. In one folder the rule is not-migratable.")},
	}
	return transform.Table(refusals, sharedRules(), argumentRules(), workloadRules())
})

type rule = transform.Checked[*migration]

// inOtherManifest is a rule about what another manifest may hold.
func inOtherManifest[C any](r transform.Checked[C]) transform.Checked[C] {
	r.OtherDocument = true
	return r
}

// sharedRules are those that check the same in every format.
func sharedRules() []rule {
	return rules.Of[*migration](
		rules.CSIGateStale, rules.CloudControllersOff, rules.FlagLeftOnKCM, rules.LeaderElectionOff,
		rules.LeaseTimingsUnsafe, inOtherManifest(rules.LeaseGrantMissing.WithGuards()),
		rules.FlagOnExternalGate.WithGuards(rules.BothManagers...),
		rules.FlagUnknown.WithGuards(rules.BothManagers...),
	)
}

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
				rules.SecondOwner(transform.FindingAt(m.argumentsAt(), "", "add --"+leaderFlag+" to its arguments, as the stage install-ccm does"), m.Target, found)
			}
		}},
		// It is about an external kube-controller-manager; its counterpart is
		// another document.
		inOtherManifest(rules.By(rules.CCMNotInFile, func(m *migration) []rules.Absent {
			_, at := m.provider()
			return lists.If(m.isExternal() && !m.Manager().Exists(), rules.Absent{At: at, Or: "or add its manifest to the command"})
		})),
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
			if m.Component != cloudManager && name == inTree && rules.IsInTreeGone(m.move(), m.Stage) {
				rules.FindInTreeProvider(at, m.move(), found)
			}
		}},
		{Rule: rules.NodeRename.WithDoc(
			"With the in-tree provider the name of a Node is the private DNS name of EC2, regardless of --hostname-override. An external kubelet uses the host name or the override, and a node whose name changes registers as a new Node. --end-state accepts it. Before the switch it is a warning."), Check: (*migration).nodeRename},
		{Rule: transform.Rule{ID: leadermigration.RuleNodeIPAM, Severity: transform.Error, Guards: rules.BothManagers,
			Doc: "nodeipam moves to the cloud-controller-manager of AWS, which has no such controller: no new node gets its pod CIDR.", Reason: leadermigration.NoNodeIPAM},
			Check: func(m *migration, found *transform.Findings) {
				if m.Component == cloudManager {
					if m.Target.NodeIPAM && m.ofProvider() {
						found.At(m.argumentsAt(), "the cloud-controller-manager of AWS has no controller "+nodeIPAM+", which this migration would move to it", "leave out --nodeipam")
					}
					return
				}
				if a, set := m.flag(leadermigration.ControllersFlag); set && slices.Contains(strings.Split(a.Value, ","), "-"+nodeIPAM) && m.on("allocate-node-cidrs") {
					found.At(a.Node(), "kube-controller-manager must assign pod CIDRs to nodes (--allocate-node-cidrs) but does not run "+nodeIPAM+", which the cloud-controller-manager of AWS does not have", "remove -"+nodeIPAM+" from the list")
				}
			}},
		// It compares the documents of a cluster, with its first one.
		rules.By(rules.ProviderMixed.WithGuards(rules.BeforeSwitch...), func(m *migration) (list []rules.Provided) {
			for _, o := range m.members {
				if name, at := o.provider(); o.Component != cloudManager && m.Doc == m.members[0].Doc {
					list = append(list, rules.Provided{What: o.Component + " in " + o.Doc.File(), Provider: name, At: at, Version: m.Version})
				}
			}
			return list
		}),
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
			"Refused with exit code 4 by every verb: no cloud provider or another one than aws, a static pod that RKE2 writes, or Kubernetes below 1.22."),
			Check: func(m *migration, found *transform.Findings) {
				found.Add(transform.NotMigratableIn(m.checkProvider())...)
			}},
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
	if rule == rules.LeaseGrantMissing.ID && (len(m.related) == 0 || leadermigration.Granted(m.related, m.Target.Lease())) {
		return nil
	}
	if rule == rules.LeaseTimingsUnsafe.ID {
		if m.Doc != m.members[0].Doc {
			return nil
		}
		return lists.Map(m.members, func(o *migration) rules.Component { return o.component(m.Stage) })
	}
	return []rules.Component{m.component(m.Stage)}
}

// Charts are none: manifests have their manager themselves.
func (m *migration) Charts(string) []rules.Chart { return nil }

// Bundle has none: each manifest is a document.
func (m *migration) Bundle() leadermigration.Bundle { return leadermigration.Bundle{} }

func (m *migration) component(stage string) rules.Component {
	provider, _ := m.provider()
	return rules.Component{Name: m.Component, Args: m.arguments.List(), Provider: provider, Version: m.move().Reached(), Stage: stage, Target: m.Target}
}

// ofProvider reports whether the manager is that of AWS.
func (m *migration) ofProvider() bool {
	name, _ := m.provider()
	return name == inTree || name == ""
}

// workloadRules are those about how a manager runs.
func workloadRules() []rule {
	return []rule{
		// It finds a file that no volume brings: then it is in the image.
		{Rule: transform.Rule{ID: "certificates-in-image", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "Arguments of a Deployment or DaemonSet name files that no volume mounts, so keys and certificates are in the image: everyone who can pull it has them, and they expire with it."}.Because(
			"Everyone who can pull the image has the keys of the control plane, and they expire with the image.", "kubernetes docs: PKI certificates", "Mount them from a Secret.", "If the image is private and its keys are replaced with it."),
			Check: func(m *migration, found *transform.Findings) {
				if m.Kind != kindDeployment && m.Kind != kindDaemonSet {
					return
				}
				var missing []string
				for _, a := range m.arguments.List() {
					if namesFile(a.Name) && a.Name != configFlag && path.IsAbs(a.Value) && !m.mounted(a.Value) {
						missing = append(missing, "--"+a.Name)
					}
				}
				if slices.Sort(missing); len(missing) > 0 {
					at := yamledit.First(m.program.container.Get("image"), m.program.container)
					found.At(at, "no volume mounts the files of "+strings.Join(slices.Compact(missing), ", ")+", so they are in the image", "mount them from a Secret, and use the published image")
				}
			}},
		{Rule: transform.Rule{ID: "circular-dependency", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "kube-controller-manager runs from a Deployment, whose pods only a running kube-controller-manager creates: once all of them are lost, nothing creates a new one."}.Because(
			"Only a running kube-controller-manager creates pods of a Deployment: once all are gone, none returns.", "kubernetes/kubernetes pkg/controller/replicaset", "Keep a static pod on one node, or store its manifest elsewhere.", "If there is a written way to start one manually."),
			Check: func(m *migration, found *transform.Findings) {
				if _, is := m.deployment(); is {
					found.At(m.Root.Get("kind"), "only a running kube-controller-manager creates the pods of this Deployment: if all of them are lost, nothing creates a new one", "keep a static pod of kube-controller-manager ready on one control-plane node, outside of the kubelet's folder")
				}
			}},
		// It finds a rollout that stops the last manager before the first new pod
		// is there: the ReplicaSet controller, which makes it, is in that manager.
		{Rule: transform.Rule{ID: "deployment-deadlock", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "The Deployment of kube-controller-manager has one replica, the strategy Recreate, or lets as many pods go as there are: the manager that would create the new pods is stopped first."}.Because(
			"The rollout stops the manager that would create the new pods, and waits for pods that no one creates.", "kubernetes/kubernetes pkg/controller/deployment", "Use two replicas or more, RollingUpdate, and maxUnavailable below the number of replicas.", "Never while it is the only manager."),
			Check: func(m *migration, found *transform.Findings) {
				d, is := m.deployment()
				if !is {
					return
				}
				replicas := 1
				if d.Replicas != nil {
					replicas = int(*d.Replicas)
				}
				const why = ", and the manager that would create the new one is the one that stops"
				spec := m.Root.Get("spec")
				switch at := spec.Get("strategy", "rollingUpdate", "maxUnavailable"); {
				case d.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
					found.At(spec.Get("strategy"), "the strategy Recreate stops all pods before a new one is created"+why, "use RollingUpdate with maxUnavailable: 0")
				case replicas < 2:
					found.At(yamledit.First(spec.Get("replicas"), spec), "there is one replica"+why, "set replicas: 2 or more, so that one waits while the other is replaced")
				case unavailable(d, replicas) >= replicas:
					found.At(at, "all pods may stop before a new one is created"+why, "set maxUnavailable: 0")
				}
			}},
		{Rule: transform.Rule{ID: "host-path-in-deployment", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "A Deployment mounts host paths: its pods can be scheduled to nodes that lack the files, or have different ones."}.Because(
			"A pod on a node that lacks the files, or has other ones, does not start or uses wrong keys.", "kubernetes docs: hostPath", "Use a ConfigMap or a Secret, or select nodes that have the files.", "If all selected nodes have the same files."),
			Check: func(m *migration, found *transform.Findings) {
				_, is := m.deployment()
				for _, v := range m.pod.Get("volumes").Items() {
					if at := v.Get("hostPath"); is && at.Exists() {
						found.At(at, "the pods read this from whatever host they are scheduled to", "use a Secret or a ConfigMap, or select nodes that have it")
					}
				}
			}},
		{Rule: transform.Rule{ID: "host-pinned", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "A Deployment selects one host by its name, so that all replicas fail with that host."}.Because(
			"All replicas fail with one host.", "kubernetes docs: assigning pods to nodes", "Select control planes by their role.", "If there is one control plane."),
			Check: func(m *migration, found *transform.Findings) {
				at := yamledit.First(m.pod.Get("nodeSelector", "kubernetes.io/hostname"), m.pod.Get("nodeName"))
				if _, is := m.deployment(); is && at.Exists() {
					found.At(at, "all replicas run on one host and fail with it", "select the control planes by their label, node-role.kubernetes.io/control-plane")
				}
			}},
		{Rule: transform.Rule{ID: "one-active-replica", Severity: transform.Note, Guards: rules.FlagEdits,
			Doc: "A Deployment of kube-controller-manager has several replicas, of which one works: the others wait for its lease, and make the change of the leader faster, not the work."}.Because(
			"One replica holds the lease and does all of the work.", "kubernetes docs: leases", "Nothing.", "Always; it informs."),
			Check: func(m *migration, found *transform.Findings) {
				if d, is := m.deployment(); is && d.Replicas != nil && *d.Replicas > 1 {
					found.At(m.Root.Get("spec", "replicas"), fmt.Sprintf("one of the %d replicas is active, the others wait for its lease", *d.Replicas), "nothing: more replicas make the change of the leader faster, not the work")
				}
			}},
	}
}

// deployment returns the Deployment of a kube-controller-manager.
func (m *migration) deployment() (appsv1.DeploymentSpec, bool) {
	if m.Kind != kindDeployment || m.Component != kubeManager {
		return appsv1.DeploymentSpec{}, false
	}
	d, _, what := k8s.Decode[appsv1.Deployment](m.Root)
	return d.Spec, what == ""
}

// unavailable returns how many pods a rollout may stop, as the Deployment
// controller computes it: 25 %, rounded down, unless it is set.
func unavailable(d appsv1.DeploymentSpec, replicas int) int {
	most := intstr.FromString("25%")
	if u := d.Strategy.RollingUpdate; u != nil && u.MaxUnavailable != nil {
		most = *u.MaxUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&most, replicas, false)
	if err != nil {
		return replicas
	}
	return n
}

// namesFile reports whether the value of a flag is a file that a manager needs.
func namesFile(flag string) bool {
	return slices.ContainsFunc([]string{"-file", "kubeconfig", "cloud-config", configFlag}, func(end string) bool { return strings.HasSuffix(flag, end) })
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	checked := *m
	checked.Stage = stage
	return transform.FindingsOf(ruleTable(), &checked, stage, m.Target.Accept)
}
