// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func TestAMalformedProviderIDSaysWhatIsWrongWithIt(t *testing.T) {
	for id, want := range map[string]string{
		"AWS:///eu-west-1a/i-0a4c19d2e7b35f801":  "in lower case",
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801 ": "space",
		"aws:///eu-west-1a/i-foo":                "is not the ID of an EC2 instance: an instance ID is i- with 8 or 17 hexadecimal digits",
	} {
		assert.Contains(t, Malformed(id), want, id)
	}
}

// The zone and the instance come from the machine itself, so that no name is trusted.
func TestTheCommandForAMachineReadsItsOwnMetadata(t *testing.T) {
	command := IdentifyManually("heron-1")
	assert.ContainsAll(t, command, []string{"placement/availability-zone", "instance-id", "kubelet.kubeconfig patch node heron-1 ", `"aws:///'"$ZONE/$ID"'"`})
}

func TestOverriddenServicesHaveTheNamesOfTheManagersMinor(t *testing.T) {
	section := func(services ...string) string {
		var b strings.Builder
		b.WriteString("[Global]\nService = no section of a service\n")
		for _, s := range services {
			b.WriteString("[ServiceOverride \"1\"]\n  Service = " + s + "\n  URL = https://a.example.com\n")
		}
		return b.String()
	}
	for _, c := range []struct{ what, config, want string }{
		{"nothing", "", ""},
		{"the names of before", section("ec2", "elasticloadbalancing"), "ec2 elasticloadbalancing"},
		{"those of now", section("EC2", "Elastic Load Balancing"), ""},
		{"both", section("ec2", "EC2"), ""},
		{"a section in another case, and quotes", "[serviceoverride \"1\"]\nservice=\"kms\"\n", "kms"},
		{"a service that never had another name", section("sts"), ""},
	} {
		got := lists.Map(IgnoredOverrides(c.config), func(s Service) string { return s.Before })
		assert.Truef(t, strings.Join(got, " ") == c.want, "%s: %v, and not %s", c.what, got, c.want)
	}
}
