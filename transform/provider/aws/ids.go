// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rke-lm/rke-lm/transform/action"
)

var (
	accepted   = regexp.MustCompile("^i-[^/]+$") // by the provider (k8s.io/cloud-provider-aws/pkg/providers/v1/instances.go)
	instanceID = regexp.MustCompile("^i-([0-9a-f]{8}|[0-9a-f]{17})$")
	byAddress  = regexp.MustCompile(`^ip-(\d+)-(\d+)-(\d+)-(\d+)(\.|$)`)
)

// Fargate begins the last part of the provider IDs of its nodes.
const Fargate = "fargate-"

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
