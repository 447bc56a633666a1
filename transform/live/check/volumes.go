// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// inTreeVolumes requires the driver on every node: an external
// kube-controller-manager attaches no in-tree volume.
var inTreeVolumes = rule{Rule: transform.Rule{ID: "in-tree-volumes", Severity: transform.Error, Guards: always,
	Doc: "EBS volumes or storage classes are in-tree, and a node has no EBS CSI driver: no component attaches them after the switch."}.Because(
	"After the switch no component attaches in-tree EBS volumes, except the CSI driver on the node.", "kubernetes docs: CSI migration", "Install the AWS EBS CSI driver on every node.", "If the volumes are not used any more."),
	Check: func(j *evaluation, found *transform.Findings) {
		uses := j.volumeUses()
		if len(uses) == 0 {
			return
		}
		if !j.Saw(observed.Nodes) || !j.Saw(observed.CSINodes) {
			found.On("storage", "EBS volumes are in-tree ("+rules.Some(uses)+"), and the dump does not show which nodes have the EBS CSI driver", "add nodes and csinodes to the dump, or check the cluster itself").Severity = transform.Note
			return
		}
		if without := j.withoutDriver(); len(without) > 0 || len(j.Nodes) == 0 {
			missing := "these nodes have no EBS CSI driver: " + rules.Some(without)
			if len(without) == len(j.Nodes) {
				missing = "no node has the EBS CSI driver"
			}
			found.On("storage", fmt.Sprintf("EBS volumes are in-tree (%s), and %s", rules.Some(uses), missing), "install the EBS CSI driver on every node before the switch; see the guide on volumes")
		}
	}, Lacks: seen(observed.Nodes, observed.Volumes, observed.StorageClasses, observed.CSINodes)}

func (j *evaluation) volumeUses() []string {
	uses := lists.Map(j.Volumes, func(v observed.Volume) string { return v.Kind + " " + v.Name })
	uses = append(uses, lists.Map(j.StorageClasses, func(c string) string { return "StorageClass " + c })...)
	for _, n := range j.Nodes {
		if n.InTreeVolumes > 0 {
			uses = append(uses, fmt.Sprintf("%d on %s", n.InTreeVolumes, n.Name))
		}
	}
	return uses
}

// withoutDriver names the nodes that are not seen to have the driver.
func (j *evaluation) withoutDriver() []string {
	has := map[string]bool{}
	for _, d := range j.Drivers {
		has[d.Node] = slices.Contains(d.Drivers, aws.CSIDriver)
	}
	names := lists.Map(j.Nodes, func(n observed.Node) string { return n.Name })
	return slices.DeleteFunc(names, func(name string) bool { return has[name] })
}
