// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestOverriddenServicesHaveTheNamesOfTheManagersMinor(t *testing.T) {
	section := func(services ...string) string {
		var b strings.Builder
		b.WriteString("[Global]\nService = no section of a service\n")
		for _, s := range services {
			b.WriteString("[ServiceOverride \"1\"]\n  Service = " + s + "\n  URL = https://a.example.com\n")
		}
		return b.String()
	}
	doc := assert.Value(yamledit.ParseString("cluster.yaml", "config: ''\n"))(t)
	for _, c := range []struct {
		what, config, version, want string
	}{
		{"nothing", "", "v1.34.1", ""},
		{"the names of before", section("ec2", "elasticloadbalancing"), "v1.33.0", "ec2 elasticloadbalancing"},
		{"those of now", section("EC2", "Elastic Load Balancing"), "v1.34.1", ""},
		{"both", section("ec2", "EC2"), "v1.34.1", ""},
		{"a manager of before", section("ec2"), "v1.32.9", ""},
		{"a section in another case, and quotes", "[serviceoverride \"1\"]\nservice=\"kms\"\n", "v1.34.1", "kms"},
		{"a service that never had another name", section("sts"), "v1.34.1", ""},
	} {
		var got []string
		e := doc.Edit()
		e.Set(doc.Root().Get("config"), c.config)
		with, _, err := e.Apply()
		assert.NilError(t, err)
		var found transform.Findings
		OverrideNames(with.Root().Get("config"), c.version, found.At)
		for _, f := range found {
			_, rest, _ := strings.Cut(f.Message, "of the service ")
			name, _, _ := strings.Cut(rest, ",")
			got = append(got, name)
		}
		assert.Truef(t, strings.Join(got, " ") == c.want, "%s: %v, and not %s", c.what, got, c.want)
	}
}
