// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

var keptLabels = append([]string{
	observed.ZoneLabel, observed.OldZoneLabel, observed.RegionLabel, observed.InstanceTypeLabel, observed.EtcdLabel, observed.HostLabel,
}, observed.ControlPlaneLabels...)

func keepNode(n *corev1.Node, kept []observed.Node) []observed.Node {
	internal, _ := lists.Find(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	out := observed.Node{
		Name: n.Name, UID: string(n.UID), ProviderID: redact.Text(n.Spec.ProviderID), Address: internal.Address,
		Unschedulable: n.Spec.Unschedulable, Cordoned: n.Annotations[action.CordonAnnotation],
		Ready: ready(n), InTreeVolumes: inTreeVolumes(n), ECRImages: registries(n),
		Taints: lists.Map(n.Spec.Taints, func(t corev1.Taint) string { return t.Key }),
	}
	for _, l := range keptLabels {
		if v, set := n.Labels[l]; set {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[l] = v
		}
	}
	if strings.Contains(n.Status.NodeInfo.KubeletVersion, "+rke") {
		delete(out.Labels, observed.HostLabel) // RKE2 sets it to the name of the Node (k3s pkg/daemons/agent)
	}
	for annotation, args := range n.Annotations {
		if strings.HasSuffix(annotation, nodeArgs) {
			delete(out.Labels, observed.HostLabel)
			out.NodeName = nodeName(args)
		}
	}
	return append(kept, out)
}

// nodeArgs ends the name of the annotation in which RKE2 and K3s write their arguments, with those of their files of
// configuration, on every Node (k3s pkg/nodeconfig).
const nodeArgs = ".io/node-args"

// nodeName is the node-name in the arguments of RKE2; "" for none.
func nodeName(args string) (name string) {
	var list []string
	if json.Unmarshal([]byte(args), &list) != nil {
		return ""
	}
	for i, a := range list {
		flag, value, joined := strings.Cut(a, "=")
		switch {
		case flag != "--node-name":
		case joined:
			name = value
		case i+1 < len(list):
			name = list[i+1]
		}
	}
	return redact.Text(strings.ToLower(name))
}

// ready keeps the condition by which a node says that it works; nil where it has none.
func ready(n *corev1.Node) *observed.Condition {
	c, has := lists.Find(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if !has {
		return nil
	}
	return &observed.Condition{Status: string(c.Status), Reason: word(c.Reason), Since: c.LastTransitionTime.UTC()}
}

// word keeps a reason that is one, as all of Kubernetes' own are: the API server
// takes any text, and a sentence might quote a secret.
func word(reason string) string {
	if strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	return redact.Text(reason)
}

func inTreeVolumes(n *corev1.Node) int {
	attached := lists.Map(n.Status.VolumesAttached, func(v corev1.AttachedVolume) corev1.UniqueVolumeName { return v.Name })
	all := lists.Distinct(slices.Concat(n.Status.VolumesInUse, attached))
	return len(slices.DeleteFunc(all, func(v corev1.UniqueVolumeName) bool { return !strings.HasPrefix(string(v), aws.InTreeVolumes+"/") }))
}

func registries(n *corev1.Node) []string {
	var hosts []string
	for _, image := range n.Status.Images {
		for _, name := range image.Names {
			if host, in := aws.Registry(name); in {
				hosts = append(hosts, host)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(hosts)))
}

func keepVolume(v *corev1.PersistentVolume, kept []observed.Volume) []observed.Volume {
	if v.Spec.AWSElasticBlockStore != nil {
		kept = append(kept, observed.Volume{Kind: observed.Volumes, Name: v.Name})
	}
	return kept
}

// keepInline keeps a pod that names an in-tree volume itself.
func keepInline(p *corev1.Pod, kept []observed.Volume) []observed.Volume {
	if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.AWSElasticBlockStore != nil }) {
		kept = append(kept, observed.Volume{Kind: observed.Pods, Name: p.Namespace + "/" + p.Name})
	}
	return kept
}

func keepClass(c *storagev1.StorageClass, kept []string) []string {
	if c.Provisioner == aws.InTreeVolumes {
		kept = append(kept, c.Name)
	}
	return kept
}

func keepDrivers(n *storagev1.CSINode, kept []observed.NodeDrivers) []observed.NodeDrivers {
	drivers := lists.Map(n.Spec.Drivers, func(d storagev1.CSINodeDriver) string { return d.Name })
	return append(kept, observed.NodeDrivers{Node: n.Name, Drivers: append([]string{}, drivers...)})
}
