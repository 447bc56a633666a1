// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// namespace is where the objects of the manager are.
func (m *Manifest) namespace() string { return cmp.Or(m.Namespace, leadermigration.Namespace) }

// rollOut brings a changed manifest to where it is used.
func (m *migration) rollOut() []action.Action {
	switch m.Kind {
	case kindConfiguration:
		file := m.Doc.File()
		if file == yamledit.Stdin {
			file = action.KubeadmFile // which KubeadmSource fetches
		}
		return []action.Action{action.KubeadmUpload(file)}
	case kindDeployment, kindDaemonSet:
		return []action.Action{action.RolledOut(m.namespace(), strings.ToLower(m.Kind), m.Name, "after the edit, wait for the new pods")}
	}
	list := []action.Action{action.PodsRunning(m.namespace(), m.Component, "on the control-plane nodes, one at a time, move the manifest into the kubelet's folder and wait until its pod runs again; a copy of the old manifest in that folder would also run")}
	if m.Component == kubeManager {
		list = append(list, action.KubeadmSource())
	}
	return list
}

// configurationWhy reports how the configuration travels.
func (m *migration) configurationWhy() string {
	switch {
	case !m.configures():
		return ""
	case m.Kind == kindPod || m.Kind == kindConfiguration:
		return " Its configuration is a file of the node, mounted read-only."
	}
	return " Its configuration is a ConfigMap, mounted read-only, because the pods have no node of their own."
}

// configurationActions put the configuration where the container will look for it.
func (m *migration) configurationActions() []action.Action {
	return m.configure("before the edit, copy the configuration, a file that plan --out writes, to every control-plane node",
		"before the edit, create the ConfigMap with the configuration, from the file that plan --out writes")
}

// configurationBack puts it there again, for a stage that is undone: a later one may
// have removed it. Its file is that of the stage that first had it.
func (m *migration) configurationBack() []action.Action {
	stage := stages.EnableLeaderMigration
	if m.Component == cloudManager {
		stage = stages.InstallCCM
	}
	return m.configure("first copy the configuration to every control-plane node again, from the file of "+stage,
		"first create the ConfigMap again, from the file of "+stage)
}

func (m *migration) configure(byFile, byObject string) []action.Action {
	switch {
	case !m.configures() || m.Kind == kindConfiguration:
		return nil
	case m.Kind == kindPod:
		return []action.Action{action.PlaceFile(configFile, m.configured(), byFile+"; the pod does not start without it")}
	}
	return []action.Action{action.ApplyFile(m.configMap()+".yaml", byObject+"; the pods do not start without it")}
}

// removeManager removes the cloud-controller-manager of the cluster. Its manifest
// without the flag must not get there: it would be a second owner.
func (m *migration) removeManager() action.Action {
	const why = "remove the manager, and do not start it again: without the flag it would run the cloud controllers at the same time as kube-controller-manager"
	if m.Kind == kindPod {
		return action.RemoveFile(podFile(m.Doc.File(), m.Component), "on the control-plane nodes, one at a time, "+why)
	}
	return action.DeleteAll(m.namespace(), strings.ToLower(m.Kind), m.Name, why)
}

// removeConfiguration takes the configuration away once nothing mounts it. The file
// of a node serves the cloud-controller-manager after the switch, too.
func (m *migration) removeConfiguration() []action.Action {
	_, found := m.flag(configFlag)
	switch {
	case !found && !m.configures() || m.Kind == kindConfiguration:
		return nil
	case m.Kind == kindPod && m.Component == kubeManager:
		return nil
	case m.Kind == kindPod:
		return []action.Action{action.RemoveFile(m.configured(), "at the end, on every control-plane node, delete the file, which is not mounted any more")}
	}
	return []action.Action{action.DeleteObject(m.namespace(), "configmap", m.configMap())}
}

// configurationFiles returns the configuration as a file or as a ConfigMap.
func (m *migration) configurationFiles() ([]action.File, error) {
	if !m.configures() || m.Kind == kindConfiguration {
		return nil, nil
	}
	content, err := leadermigration.Make(leadermigration.Config{
		Component: m.Component, Kubernetes: m.Version, CCM: m.Version,
		Lease: m.Target.LeaseName, NodeIPAM: m.Target.NodeIPAM,
	})
	if err != nil {
		return nil, err
	}
	if m.Kind == kindPod {
		return []action.File{{Name: configFile, Content: content}}, nil
	}
	object, err := ccm.Holding("ConfigMap", yamledit.Map{{Key: "name", Value: m.configMap()}, {Key: "namespace", Value: m.namespace()}}, "data", configFile, content)
	return []action.File{{Name: m.configMap() + ".yaml", Content: object}}, err
}

// deliver reports how a changed manifest reaches its cluster. The kubelet starts
// every file in its folder that has no dot in front, a half written one as well:
// so the new one is written under such a name and takes its place at once.
func deliver(doc *yamledit.Document, file string) transform.Delivery {
	switch kindOf(doc) {
	case kindConfiguration:
		return transform.Delivery{How: "the cluster with kubeadm:", Command: action.KubeadmUpload(file).Command}
	case kindInit, kindJoin:
		return transform.Delivery{How: "where\nkubeadm reads it on new nodes. It changes no running kubelet."}
	case kindPod:
		to := podFile(doc.File(), programs(podOf(doc.Root(), kindPod))[0].component)
		hidden := path.Join(path.Dir(to), "."+path.Base(to))
		return transform.Delivery{
			How:     "the control-plane nodes, one at a\ntime, with no copy of the old manifest in the kubelet's folder:",
			Command: action.Command("install -m 0600 %s %s && mv %s %s", action.Path(file), hidden, hidden, to),
		}
	}
	return transform.Delivery{How: "the cluster:", Command: action.Command("kubectl apply -f %s", action.Path(file)), Resource: transform.ResourceOf(doc)}
}

// podFile is where the manifest of a component lies on its node: where it was read,
// in the folder of kubeadm, or else under the name that kubeadm gives it.
func podFile(read, component string) string {
	const folder = "/etc/kubernetes/manifests"
	if path.Dir(read) == folder {
		return read
	}
	return path.Join(folder, component+".yaml")
}

// controlPlaneLabel selects the control-plane nodes of kubeadm, whose label has
// no value.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// cordon is the policy for the nodes on which kube-controller-manager runs.
func (m *migration) cordon() stages.Cordoning {
	return stages.Cordoning{
		Instead:  m.cordonsNot(),
		Target:   m.Target,
		Selector: controlPlaneLabel, Cluster: m.Name,
		Why: "No new workload starts on a control plane while it switches. The lease guarantees one leader, not the cordon: static pods and DaemonSet pods also start on a cordoned node.",
	}
}

// cordonsNot reports why nothing is cordoned here, or "". The stages come with
// kube-controller-manager. The pods of a Deployment are held back by a cordon, so there it
// is made only where it is requested.
func (m *migration) cordonsNot() string {
	switch {
	case m.Component != kubeManager || m.Kind == kindConfiguration:
		return "The plan of the manifest of kube-controller-manager has this stage."
	case m.Kind == kindDeployment && m.Target.Cordon != transform.CordonAlways:
		return "Not needed: the pods of the Deployment must be scheduled while it rolls out."
	}
	return ""
}

// Restarts is that of the one manifest.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	if bytes.Equal(m.Doc.Bytes(), after.(*migration).Doc.Bytes()) {
		return nil
	}
	r := transform.Restart{Process: m.Component, Classes: []string{"control planes"}}
	if m.Component != kubeManager && m.Component != cloudManager {
		r.Classes = []string{"nodes"}
	}
	switch m.Kind {
	case kindPod:
		r.Order = "when its file is replaced: one control plane after another"
	case kindDeployment, kindDaemonSet:
		r.Order = "as the " + m.Kind + " rolls out"
	default:
		r.Order = "when kubeadm or its file applies the arguments: one node after another"
	}
	return []transform.Restart{r}
}

// Restarts is that of every manifest of the cluster.
func (c *cluster) Restarts(after transform.Cluster) []transform.Restart {
	var list []transform.Restart
	for i, m := range c.members {
		list = append(list, m.Restarts(after.(*cluster).members[i])...)
	}
	return list
}

// situation reports what the manifests of a cluster leave of a migration. From 1.27 on a
// manager and a kubelet exit with the provider aws. A manifest alone does not show whether
// what is external takes part in a migration that began before.
func situation(members []*migration) transform.Situation {
	if slices.ContainsFunc(members, (*migration).stops) {
		return transform.Broken
	}
	return transform.InTree
}

// stops reports whether what the manifest is for does not start with its provider. The
// cloud-controller-manager does.
func (m *migration) stops() bool { return m.inTree() && k8s.From(m.Version, aws.FirstWithout) }

func (m *migration) inTree() bool {
	name, _ := m.provider()
	return m.Component != cloudManager && name == inTree
}
