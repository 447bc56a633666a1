// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
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
