// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i/62500, i/250%250, i%250+1)
}

// node is as a kubelet of RKE2 registers it, with the images that a busy machine has: a kubelet reports
// up to 50.
func node(i int) *corev1.Node {
	zone, name := "eu-west-1"+string(rune('a'+i%3)), nodeName(i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(i, zone), Annotations: annotations(i)}}
	n.Spec = corev1.NodeSpec{PodCIDR: podRange(i), PodCIDRs: []string{podRange(i)}, ProviderID: fmt.Sprintf("aws:///%s/i-%017x", zone, 0xa4c19d2e7b35f801+uint64(i)*0x9e37)}
	if i < controlPlanes {
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	resources := corev1.ResourceList{}
	for k, v := range map[corev1.ResourceName]string{"cpu": "16", "memory": "64803292Ki", "pods": "110", "ephemeral-storage": "209702892Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0"} {
		resources[k] = resource.MustParse(v)
	}
	n.Status = corev1.NodeStatus{
		Capacity: resources, Allocatable: resources, Conditions: conditions(), Images: images(i),
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address(i)}, {Type: corev1.NodeInternalDNS, Address: name}, {Type: corev1.NodeHostName, Address: name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: fmt.Sprintf("%032x", i), SystemUUID: fmt.Sprintf("ec2d4c1a-0000-4000-8000-%012x", i), BootID: fmt.Sprintf("5d0f1f0e-0000-4000-8000-%012x", i),
			KernelVersion: "5.15.0-1051-aws", OSImage: "Ubuntu 22.04.3 LTS", ContainerRuntimeVersion: "containerd://1.7.11-k3s2",
			KubeletVersion: "v1.26.15+rke2r1", KubeProxyVersion: "v1.26.15+rke2r1", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	return n
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i/62500, i/250%250, i%250+1) }

func podRange(i int) string { return fmt.Sprintf("10.%d.%d.0/24", 64+i/250, i%250) }

func labels(i int, zone string) map[string]string {
	l := map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: nodeName(i),
		corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "eu-west-1", corev1.LabelInstanceTypeStable: "m5.4xlarge",
		corev1.LabelFailureDomainBetaZone: zone, corev1.LabelFailureDomainBetaRegion: "eu-west-1", corev1.LabelInstanceType: "m5.4xlarge",
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "topology.ebs.csi.aws.com/zone": zone,
		"rke.cattle.io/machine": fmt.Sprintf("7c1e0b5a-0000-4000-8000-%012x", i), "cattle.io/os": "linux",
		"plan.upgrade.cattle.io/system-agent-upgrader": "c7d7e8f2b4a1903e5d6c", "example.org/pool": fmt.Sprintf("pool-%d", i%12),
	}
	if i < controlPlanes {
		l["node-role.kubernetes.io/control-plane"] = "true"
	}
	return l
}

func annotations(i int) map[string]string {
	return map[string]string{
		"cluster.x-k8s.io/cluster-name": "orchard", "cluster.x-k8s.io/cluster-namespace": "fleet-default", "cluster.x-k8s.io/labels-from-machine": "",
		"cluster.x-k8s.io/machine": fmt.Sprintf("orchard-pool-%d-7d9c5b8f6-%05x", i%12, i), "cluster.x-k8s.io/owner-kind": "MachineSet",
		"cluster.x-k8s.io/owner-name": fmt.Sprintf("orchard-pool-%d-7d9c5b8f6", i%12), "node.alpha.kubernetes.io/ttl": "300",
		"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x"}`, i), "projectcalico.org/IPv4Address": address(i) + "/20",
		"projectcalico.org/IPv4VXLANTunnelAddr": address(i), "rke2.io/hostname": nodeName(i), "rke2.io/internal-ip": address(i),
		"rke2.io/node-args": `["agent","--kubelet-arg","max-pods=110","--node-label","example.org/pool","--cloud-provider-name","external","--private-registry","/etc/rancher/rke2/registries.yaml","--protect-kernel-defaults","false","--token","********"]`,
		"rke2.io/node-env":  "{}", "rke2.io/node-config-hash": fmt.Sprintf("%056x", i), "volumes.kubernetes.io/controller-managed-attach-detach": "true",
	}
}

func conditions() []corev1.NodeCondition {
	var list []corev1.NodeCondition
	for _, c := range []struct{ kind, status, reason, message string }{
		{"NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node"},
		{"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{"EtcdIsVoter", "False", "NotAMember", "the node is no member of the etcd cluster"},
		{"Ready", "True", "KubeletReady", "kubelet is posting ready status. AppArmor enabled"},
	} {
		list = append(list, corev1.NodeCondition{Type: corev1.NodeConditionType(c.kind), Status: corev1.ConditionStatus(c.status), Reason: c.reason, Message: c.message, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
	}
	return list
}

// images are a third the same on all nodes, as those of DaemonSets are.
func images(i int) []corev1.ContainerImage {
	var list []corev1.ContainerImage
	for k := range 45 {
		service := k
		if k >= 15 {
			service = 15 + (k*7+i)%300
		}
		repository := fmt.Sprintf("registry.example.org/team-%d/service-%d", service%7, service)
		tag := fmt.Sprintf("%s:v1.%d.%d", repository, service, service%9)
		list = append(list, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%x", repository, sha256.Sum256([]byte(tag))), tag}, // digests do not compress
			SizeBytes: int64(50_000_000 + 1_000_003*service),
		})
	}
	return list
}
