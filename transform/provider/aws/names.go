// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// What documents and live clusters call the provider and what belongs to it.
const (
	// Name is the in-tree provider: --cloud-provider, RKE2's cloud-provider-name and RKE's cloud_provider.name. It is
	// also the provider of the cloud-controller-manager, and the scheme of provider IDs.
	Name = "aws"
	// FirstWithout is the first minor of Kubernetes without the in-tree provider.
	FirstWithout = "v1.27"
	// ExternalName is what RKE calls the external one; components get external.
	ExternalName = "external-aws"
	// Manager is the cloud-controller-manager: its program, image, DaemonSet and chart.
	Manager = Name + "-cloud-controller-manager"
	// ChartRepository is where the chart is published.
	ChartRepository = "https://kubernetes.github.io/cloud-provider-aws"
	// CloudConfig is the Secret with the provider's configuration, and the folder in which the manager finds it.
	CloudConfig = Name + "-cloud-config"
	// MigrationConfigMap has the LeaderMigrationConfiguration of the manager.
	MigrationConfigMap = Name + "-ccm-leader-migration"
	// Values begins the names of files with the chart's values.
	Values = Name + "-ccm-values"

	// InTreeVolumes is the in-tree plugin of EBS: the provisioner of a StorageClass, and the beginning of the names of attached volumes.
	InTreeVolumes = "kubernetes.io/aws-ebs"
	// CSIDriver is the name by which the EBS CSI driver registers, and CSIDriverName that of its chart, images and objects.
	CSIDriver     = "ebs.csi.aws.com"
	CSIDriverName = Name + "-ebs-csi-driver"
	// CSIGate is the feature gate by which in-tree volumes reach the driver: on from 1.23 on, locked from 1.25 on, and gone in 1.27.
	CSIGate = "CSIMigrationAWS"

	// MachineConfigKind is the kind of the machine configurations of Rancher's pools on AWS. MachineConfigs
	// and Machines are the resources of configurations and of machines.
	MachineConfigKind = "Amazonec2Config"
	MachineConfigs    = "amazonec2configs"
	Machines          = "amazonec2machines"

	// LoadBalancerType is the annotation that hands a Service to the AWS Load Balancer Controller
	// (cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go, isLBExternal).
	LoadBalancerType = "service.beta.kubernetes.io/aws-load-balancer-type"
	// LoadBalancerInternal keeps a load balancer from being reachable from the Internet
	// (cloud-provider-aws pkg/providers/v1/aws.go).
	LoadBalancerInternal = "service.beta.kubernetes.io/aws-load-balancer-internal"
)

// IsDNSName reports whether the name of a Node is a private DNS name of EC2.
func IsDNSName(name string) bool {
	return strings.HasSuffix(name, ".ec2.internal") || strings.HasSuffix(name, ".compute.internal") || strings.HasSuffix(name, ".compute.amazonaws.com.cn")
}

// ecr is the host of a private registry, in all partitions of AWS
// (k8s.io/kubernetes/pkg/credentialprovider/aws).
var ecr = regexp.MustCompile(`^[0-9]+\.dkr\.ecr[a-z-]*\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|sc2s\.sgov\.gov|c2s\.ic\.gov)/`)

// Registry returns the private registry of an image in ECR.
func Registry(image string) (host string, in bool) {
	if !strings.Contains(image, ".dkr.ecr") || !ecr.MatchString(image) {
		return "", false
	}
	host, _, in = strings.Cut(image, "/")
	return host, in
}

// Service is one of AWS, as a section ServiceOverride of the provider's configuration names it before 1.33.1, and since.
type Service struct {
	Before string
	Since  []string
}

var services = []Service{
	{"ec2", []string{"EC2"}},
	{"elasticloadbalancing", []string{"Elastic Load Balancing", "Elastic Load Balancing v2"}},
	{"kms", []string{"KMS"}},
}

// IgnoredOverrides returns the services whose own endpoint in a provider's configuration only managers before 1.33.1 find.
func IgnoredOverrides(config string) []Service {
	named := overridden(config)
	return lists.Where(services, func(s Service) bool {
		return slices.Contains(named, s.Before) && !slices.ContainsFunc(s.Since, func(n string) bool { return slices.Contains(named, n) })
	})
}

// overridden returns the services of the sections ServiceOverride.
func overridden(config string) (names []string) {
	for _, s := range settings(config) {
		if kind, _, _ := strings.Cut(s.section, " "); kind == "serviceoverride" && s.name == "service" {
			names = append(names, strings.Trim(s.value, `"`))
		}
	}
	return names
}

// setting is a line of a provider's configuration. Names of sections and keys have no case, and a value may
// have quotes (gcfg).
type setting struct{ section, name, value string }

func settings(config string) (all []setting) {
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
		} else if name, value, set := strings.Cut(line, "="); set {
			all = append(all, setting{section, strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)})
		}
	}
	return all
}
