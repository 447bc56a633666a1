// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// backupForm is what editors, packages and people append to the name of a file.
var backupForm = regexp.MustCompile(`(?i)(^|[-._])(bak|backup|copy|old|orig|original|save|saved|dpkg-dist|rpmsave)([-._]|\d|$)|~$`)

// backup uses the name of the file: its folder is not read.
func (m *migration) backup() []transform.Finding {
	name := path.Base(strings.ReplaceAll(m.Doc.File(), `\`, "/"))
	if m.Kind != kindPod || strings.HasPrefix(name, ".") || !backupForm.MatchString(name) {
		return nil
	}
	return []transform.Finding{transform.FindingAt(m.Root, "the file is named like a backup; in the folder of a kubelet it runs a second "+m.Component, "keep copies in another folder")}
}

// ccmNotInFile is about an external kube-controller-manager; its counterpart is
// another document.
func (m *migration) ccmNotInFile() []transform.Finding {
	if !m.isExternal() || m.Manager().Exists() {
		return nil
	}
	_, at := m.provider()
	return rules.CCMNotInFile.At(at, "or add its manifest to the command")
}

// ccmFlagMissing is about the manifest of the cloud-controller-manager next to that of an
// in-tree kube-controller-manager.
func (m *migration) ccmFlagMissing() []transform.Finding {
	inTreeRuns := slices.ContainsFunc(m.members, func(o *migration) bool {
		name, _ := o.provider()
		return o.Component == kubeManager && name == inTree
	})
	if m.Component != cloudManager || m.on(leaderFlag) || !inTreeRuns {
		return nil
	}
	return rules.CCMFlagMissing.Manifest(m.argumentsAt(), m.target)
}

// leaseGrantMissing is about a manager with the flag, whose permission is in another
// document. Files without any permissions, such as a folder of static pods, tell nothing.
func (m *migration) leaseGrantMissing() []transform.Finding {
	name, _ := m.provider()
	if m.Component != kubeManager || name != inTree || len(m.related) == 0 || leadermigration.Granted(m.related, m.target.Lease()) {
		return nil
	}
	return rules.LeaseGrantMissing.Check(m.arguments.List(), name)
}

func (m *migration) withoutFlag() []transform.Finding {
	a, idle := rules.ConfigWithoutFlag.Idle(m.arguments.List())
	if !idle {
		return nil
	}
	return []transform.Finding{transform.FindingAt(a.Node, "the manager ignores --"+configFlag+" without --"+leaderFlag, "add --"+leaderFlag+", or remove this argument with its mount and its volume")}
}

func (m *migration) notMounted() []transform.Finding {
	a, found := m.flag(configFlag)
	if !found || m.mounted(a.Value) || m.Kind == kindConfiguration && kubeadmMounts(a.Value) {
		return nil
	}
	return []transform.Finding{transform.FindingAt(a.Node, "no volume mounts the file of --"+configFlag+" into the container, and "+m.Component+" exits", "mount it read-only, from a hostPath of type File or from a ConfigMap")}
}

// kubeadmMounts reports whether kubeadm mounts a path into every static pod of
// kube-controller-manager.
func kubeadmMounts(file string) bool {
	return strings.HasPrefix(file, "/etc/kubernetes/pki/") || strings.HasPrefix(file, "/etc/ssl/certs/")
}

// providerRemoved finds a manager that would hold the lease for nothing.
func (m *migration) providerRemoved() []transform.Finding {
	name, at := m.provider()
	if m.Component != kubeManager || name != "" || !m.on(leaderFlag) {
		return nil
	}
	return []transform.Finding{transform.FindingAt(at, "leader migration is on and no --"+providerFlag+" is set: kube-controller-manager holds the migration lease and runs no cloud controllers", "set --"+providerFlag+"="+inTree+" until the switch, or remove --"+leaderFlag)}
}

// providerMixed compares the documents of a cluster, with its first one.
func (m *migration) providerMixed() []transform.Finding {
	if m.Doc != m.members[0].Doc {
		return nil
	}
	var list []rules.Provided
	for _, o := range m.members {
		if name, at := o.provider(); o.Component != cloudManager {
			list = append(list, rules.Provided{What: o.Component + " in " + o.Doc.File(), Provider: name, At: at})
		}
	}
	return rules.ProviderMixed.Check(list, m.Version)
}

func (m *migration) flagLeftOnKCM() []transform.Finding {
	if m.Component != kubeManager {
		return nil
	}
	name, _ := m.provider()
	return rules.FlagLeftOnKCM.Check(m.arguments.List(), name)
}

func (m *migration) inTreeGone() []transform.Finding {
	name, at := m.provider()
	if m.Component == cloudManager || name != inTree || !rules.InTreeGone.Applies(m.move(), m.stage) {
		return nil
	}
	return rules.InTreeGone.At(at, m.move())
}

func (m *migration) csiGateStale() []transform.Finding {
	return rules.CSIGateStale.Check(m.arguments.List(), m.move().Reached(), m.stage, transform.FindingAt)
}

func (m *migration) flagOnExternalGate() []transform.Finding {
	return rules.FlagOnExternalGate.Check(m.arguments.List(), m.move().Reached(), transform.FindingAt)
}

func (m *migration) flagUnknown() []transform.Finding {
	return rules.FlagUnknown.Check(m.Component, m.arguments.List(), m.move().Reached(), transform.FindingAt)
}

func (m *migration) leaderElectionOff() []transform.Finding {
	return rules.LeaderElectionOff.Check(m.arguments.List(), m.Component, m.target, transform.FindingAt)
}

// last finds the last argument of a name.
func (m *migration) last(name string) (args.Arg, bool) {
	a, set := m.flag(name)
	return a.Arg, set
}

func (m *migration) routesUnsafe() []transform.Finding {
	if m.Component != cloudManager || !ccm.RoutesUnsafe(m.last) {
		return nil
	}
	message, fix := rules.CCMArgsUnsafe.Routes()
	return []transform.Finding{transform.FindingAt(m.argumentsAt(), message, fix)}
}

// skewed finds a manager that uses the wrong names of its controllers.
func (m *migration) skewed() []transform.Finding {
	if m.Component != cloudManager || !rules.CCMMinorSkew.Renamed(m.last, m.Version) {
		return nil
	}
	at, _ := m.versionAt()
	return []transform.Finding{transform.FindingAt(at, "an image of 1.28 or later has other controller names than its default configuration of leader migration, so services and routes run in both managers", "use an image of the cluster's minor, or add a configuration: --leader-migration-config generate")}
}

// ipamLost finds nodeipam taken away from kube-controller-manager, or given to a
// cloud-controller-manager that has none.
func (m *migration) ipamLost() []transform.Finding {
	if m.Component == cloudManager {
		if !m.target.NodeIPAM || !m.isAWS() {
			return nil
		}
		return []transform.Finding{transform.FindingAt(m.argumentsAt(), "the cloud-controller-manager of AWS has no controller "+nodeIPAM+", which this migration would move to it", "leave out --nodeipam")}
	}
	a, found := m.flag(controllersFlag)
	if !found || !slices.Contains(strings.Split(a.Value, ","), "-"+nodeIPAM) || !m.allocates() {
		return nil
	}
	return []transform.Finding{transform.FindingAt(a.Node, "kube-controller-manager must assign pod CIDRs to nodes (--allocate-node-cidrs) but does not run "+nodeIPAM+", which the cloud-controller-manager of AWS does not have", "remove -"+nodeIPAM+" from the list")}
}

// allocates reports whether nodes get pod ranges from a manager.
func (m *migration) allocates() bool { return m.on("allocate-node-cidrs") }

// isAWS reports whether the manager is that of AWS.
func (m *migration) isAWS() bool {
	name, _ := m.provider()
	return name == inTree || name == ""
}
