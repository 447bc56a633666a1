// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/rke-lm/rke-lm/transform/action"
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
	// Source is where facts about its manager can be read that several rules rest on.
	Source = "kubernetes/cloud-provider-aws pkg/providers/v1 and charts/aws-cloud-controller-manager, v1.26 to v1.37"

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
func overridden(config string) []string {
	return lists.Found(settings(config), func(s setting) (string, bool) {
		kind, _, _ := strings.Cut(s.section, " ")
		return strings.Trim(s.value, `"`), kind == "serviceoverride" && s.name == "service"
	})
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

var (
	accepted   = regexp.MustCompile("^i-[^/]+$") // by the provider (k8s.io/cloud-provider-aws/pkg/providers/v1/instances.go)
	instanceID = regexp.MustCompile("^i-([0-9a-f]{8}|[0-9a-f]{17})$")
	byAddress  = regexp.MustCompile(`^ip-(\d+)-(\d+)-(\d+)-(\d+)(\.|$)`)
)

// Fargate begins the last part of the provider IDs of its nodes.
const Fargate = "fargate-"

// IDForm is how people write the form of a provider ID.
const IDForm = Name + ":///ZONE/INSTANCE"

// ProviderID is one of the forms aws:///ZONE/INSTANCE and aws:////INSTANCE; nodes of
// Fargate have another part between the two.
type ProviderID struct{ Zone, Instance string }

// ParseProviderID reads a provider ID that the provider accepts.
func ParseProviderID(id string) (ProviderID, bool) {
	path, ok := strings.CutPrefix(id, Name+":///")
	zone, token, both := strings.Cut(path, "/")
	last := token[strings.LastIndex(token, "/")+1:]
	if !ok || !both || !accepted.MatchString(token) && !strings.HasPrefix(last, Fargate) {
		return ProviderID{}, false
	}
	return ProviderID{zone, last}, true
}

// IsInstance reports whether EC2 gives instances such IDs: the provider accepts others, and then finds no
// such instance.
func IsInstance(id string) bool { return instanceID.MatchString(id) }

// NamesInstance reports whether the name of a Node is the private DNS name of its own instance: it has
// the address that the Node's kubelet reports, or is the instance's ID. Any other name could
// be that of another instance, and a provider ID never changes.
func NamesInstance(name, address string) bool {
	if m := byAddress.FindStringSubmatch(name); m != nil {
		return strings.Join(m[1:5], ".") == address
	}
	host, _, _ := strings.Cut(name, ".")
	return IsInstance(host)
}

// IsProviderID reports whether a provider ID names AWS as its provider.
func IsProviderID(id string) bool { return strings.HasPrefix(id, Name+"://") }

// Scheme returns what a provider ID names as its provider.
func Scheme(id string) (scheme string, isID bool) {
	scheme, _, isID = strings.Cut(strings.TrimSpace(id), "://")
	return scheme, isID
}

// Malformed reports what is wrong with a provider ID that is one of AWS or of no one; ""
// for nothing.
func Malformed(id string) string {
	scheme, isID := Scheme(id)
	parsed, ok := ParseProviderID(id)
	switch {
	case id == "", isID && !strings.EqualFold(scheme, Name):
		return ""
	case strings.ContainsFunc(id, unicode.IsSpace):
		return "contains a space"
	case isID && scheme != Name:
		return "begins with " + scheme + ", and the AWS provider requires aws in lower case"
	case !ok:
		return "is not supported by the AWS provider"
	case !strings.HasPrefix(parsed.Instance, Fargate) && !IsInstance(parsed.Instance):
		return "is not the ID of an EC2 instance: an instance ID is i- with 8 or 17 hexadecimal digits"
	}
	return ""
}

// IdentifyManually reports what to do for a Node whose name does not prove its instance: its own
// machine tells the metadata of the instance.
func IdentifyManually(name string) string {
	return action.Command("# on its machine:\n  "+`TOKEN=$(curl -fsX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token) && METADATA=http://169.254.169.254/latest/meta-data && `+
		`ZONE=$(curl -fsH "X-aws-ec2-metadata-token: $TOKEN" $METADATA/placement/availability-zone) && ID=$(curl -fsH "X-aws-ec2-metadata-token: $TOKEN" $METADATA/instance-id) && `+
		`kubectl --kubeconfig /var/lib/rancher/rke2/agent/kubelet.kubeconfig patch node %--%s --type=merge -p '{"spec":{"providerID":"aws:///'"$ZONE/$ID"'"}}'`, name)
}
