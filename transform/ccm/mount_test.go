// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestINIIsWhatItsReaderTakes(t *testing.T) {
	got := INI([]Section{
		{Name: "Global", Settings: []Setting{{"Zone", "eu-west-1a"}, {"RoleARN", "arn:aws:iam::1:role/a"}, {"KubernetesClusterID", "a; b \"c\" \\d"}}},
		{Name: "Empty"},
		{Name: "ServiceOverride", Label: "1", Settings: []Setting{{"URL", "https://a.example.com:443/"}, {"Region", ""}}},
	})
	want := "[Global]\nZone = eu-west-1a\nRoleARN = arn:aws:iam::1:role/a\nKubernetesClusterID = \"a; b \\\"c\\\" \\\\d\"\n\n" +
		"[ServiceOverride \"1\"]\nURL = https://a.example.com:443/\nRegion = \"\"\n"
	assert.Equal(t, got, want)
	assert.Equal(t, INI(nil), "", "nothing is nothing")
}
