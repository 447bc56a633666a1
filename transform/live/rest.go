// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/observation"
)

// ebsDriver is the name by which the EBS CSI driver registers.
const ebsDriver = "ebs.csi.aws.com"

// inTreeVolumes asks for the driver on every node: an external
// kube-controller-manager attaches no in-tree volume.
func (j *judge) inTreeVolumes() []transform.Finding {
	uses := j.volumeUses()
	if len(uses) == 0 {
		return nil
	}
	var without []string
	for _, n := range j.Nodes {
		if !j.hasDriver(n.Name) {
			without = append(without, n.Name)
		}
	}
	if len(without) == 0 && len(j.Nodes) > 0 {
		return nil
	}
	message := fmt.Sprintf("EBS volumes are in-tree (%s), and %s", some(uses), missingOn(without, len(j.Nodes)))
	return []transform.Finding{found("storage", message, "install the EBS CSI driver on every node before the switch; see the guide on volumes")}
}

func (j *judge) volumeUses() []string {
	var uses []string
	for _, v := range j.Volumes {
		uses = append(uses, v.Kind+" "+v.Name)
	}
	for _, c := range j.StorageClasses {
		uses = append(uses, "StorageClass "+c)
	}
	for _, n := range j.Nodes {
		if n.InTreeVolumes > 0 {
			uses = append(uses, fmt.Sprintf("%d on %s", n.InTreeVolumes, n.Name))
		}
	}
	return uses
}

func (j *judge) hasDriver(node string) bool {
	return slices.ContainsFunc(j.Drivers, func(d observation.NodeDrivers) bool {
		return d.Node == node && slices.Contains(d.Drivers, ebsDriver)
	})
}

func missingOn(nodes []string, of int) string {
	if len(nodes) == of {
		return "no node is seen to have the EBS CSI driver"
	}
	return "these nodes have no EBS CSI driver: " + some(nodes)
}

// some names the first few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}

func (j *judge) loadBalancerChanged() []transform.Finding {
	if j.Before == nil {
		return nil
	}
	was := map[string][]string{}
	for _, s := range j.Before.LoadBalancers {
		was[s.Namespace+"/"+s.Name] = s.Hosts
	}
	var list []transform.Finding
	for _, s := range j.Services {
		before, known := was[s.Namespace+"/"+s.Name]
		if known && len(before) > 0 && !slices.Equal(before, s.Hosts) {
			now := "nothing"
			if len(s.Hosts) > 0 {
				now = strings.Join(s.Hosts, ", ")
			}
			list = append(list, found(s.Namespace+"/services/"+s.Name, fmt.Sprintf("its load balancer was %s and is %s", strings.Join(before, ", "), now), "point DNS records to the new one, and look for the old one in AWS"))
		}
	}
	return list
}

func (j *judge) ecrCredentials() []transform.Finding {
	if !k8s.From(j.Choice.Version, k8s.FirstWithout) {
		return nil
	}
	var from []string
	for _, n := range j.Nodes {
		from = append(from, n.ECRImages...)
	}
	slices.Sort(from)
	if from = slices.Compact(from); len(from) == 0 {
		return nil
	}
	return []transform.Finding{found("nodes", "images come from ECR ("+some(from)+"), and the kubelet of 1.27 has no credentials for it", "give the kubelets the credential provider ecr-credential-provider before the upgrade")}
}

func (j *judge) clusterNotSettled() []transform.Finding {
	const fix = "wait; if it does not come, Rancher's interface names the machine that hangs"
	var list []transform.Finding
	for _, c := range j.ControlPlanes {
		var open []string
		if !c.Observed {
			open = append(open, "its last change was not seen yet")
		}
		if !c.Applied {
			open = append(open, "the specification is not the applied one")
		}
		for _, name := range c.NotTrue {
			open = append(open, "the condition "+name+" is not True")
		}
		if len(open) > 0 {
			list = append(list, found(c.Namespace+"/rkecontrolplanes/"+c.Name, "the cluster is not settled: "+strings.Join(open, ", "), fix))
		}
	}
	for _, p := range j.MachinePlans {
		if !p.Applied {
			list = append(list, found(p.Namespace+"/secrets/"+p.Name, "the machine does not run its last plan yet", fix))
		}
	}
	return list
}
