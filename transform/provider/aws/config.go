// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
)

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

// overridden returns the services of the sections ServiceOverride. Names of sections and keys
// have no case, and a value may have quotes (gcfg).
func overridden(config string) []string {
	var names []string
	inside := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = strings.HasPrefix(strings.ToLower(line), "[serviceoverride ")
			continue
		}
		key, value, set := strings.Cut(line, "=")
		if inside && set && strings.EqualFold(strings.TrimSpace(key), "Service") {
			names = append(names, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return names
}
