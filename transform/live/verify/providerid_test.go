// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/live/observation"
)

// Every provider ID is either right or found by one rule.
func TestProviderIDsAreReadAsTheProviderReadsThem(t *testing.T) {
	const fine = ""
	for id, want := range map[string]string{
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801":            fine,
		"aws:////i-0a4c19d2e7b35f801":                      fine,
		"aws:///eu-west-1a/i-5b1c8f62":                     fine,
		"aws:///eu-west-1a/fargate-ip-10-0-1-20.eu-west-1": fine,
		"aws:///eu-west-1a/1abc-2def/fargate-ip-10-0-1-20": fine,
		"":                                            "provider-id-missing",
		"rke2://ip-10-0-1-20":                         "provider-id-foreign",
		"k3s://ip-10-0-1-20":                          "provider-id-foreign",
		"azure:///subscriptions/0/vm":                 "provider-id-foreign",
		"i-0a4c19d2e7b35f801":                         "provider-id-malformed",
		"aws://eu-west-1a/i-0a4c19d2e7b35f801":        "provider-id-malformed",
		"aws:///i-0a4c19d2e7b35f801":                  "provider-id-malformed",
		"aws:///eu-west-1a/":                          "provider-id-malformed",
		"aws:///eu-west-1a/i-":                        "provider-id-malformed",
		"aws:///eu-west-1a/x/i-0a4c19d2e7b35f80":      "provider-id-malformed",
		"aws:///eu-west-1a/ip-10-0-1-20":              "provider-id-malformed",
		"aws:///eu-west-1a/x/ip-10-0-1-20":            "provider-id-malformed",
		"eks-hybrid:///us-west-2/prod/mi-0a4c19":      "provider-id-foreign",
		"aws:///us-west-2-lax-1a/i-0a4c19d2e7b35f801": "provider-id-zone-mismatch",
		"aws:///us-gov-west-1a/i-5b1c8f62":            "provider-id-zone-mismatch",
		"aws:///cn-north-1a/i-0a4c19d2e7b35f801":      "provider-id-zone-mismatch",
		"AWS:///eu-west-1a/i-0a4c19d2e7b35f801":       "provider-id-malformed",
		"Azure:///subscriptions/0/vm":                 "provider-id-foreign",
		"aws:///eu-west-1a/i-foo":                     "provider-id-malformed",
		"aws:///eu-west-1a/i-0a4c19d2e7b3":            "provider-id-malformed",
		"aws:///eu-west-1a/i-0A4C19D2E7B35F801":       "provider-id-malformed",
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801 ":      "provider-id-malformed",
		" aws:///eu-west-1a/i-0a4c19d2e7b35f801":      "provider-id-malformed",
		"aws:///eu-west-1a/fargate-ip-10-0-1-20 ":     "provider-id-malformed",
	} {
		o := &observation.Observation{Nodes: []observation.Node{{Name: "one", ProviderID: id, Labels: map[string]string{
			observation.ZoneLabel: "eu-west-1a", observation.RegionLabel: "eu-west-1", observation.InstanceTypeLabel: "m5.large",
		}}}}
		v := Evaluate(o, Choice{})
		switch {
		case want == fine && len(v.Findings) > 0:
			t.Errorf("%q: %+v", id, v.Findings)
		case want != fine && (len(v.Findings) != 1 || v.Findings[0].Rule != want):
			t.Errorf("%q: %+v, not %s", id, v.Findings, want)
		}
		if v.Nodes[0].OK != (want == fine) {
			t.Errorf("%q: the node is ok: %t", id, v.Nodes[0].OK)
		}
	}
}

func TestAMalformedProviderIDSaysWhatIsWrongWithIt(t *testing.T) {
	for id, want := range map[string]string{
		"AWS:///eu-west-1a/i-0a4c19d2e7b35f801":  "in lower case",
		"aws:///eu-west-1a/i-0a4c19d2e7b35f801 ": "space",
		"aws:///eu-west-1a/i-foo":                "is not the ID of an EC2 instance: an instance ID is i- with 8 or 17 hexadecimal digits",
	} {
		if got := malformed(id); !strings.Contains(got, want) {
			t.Errorf("%q: %q", id, got)
		}
	}
}
