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
