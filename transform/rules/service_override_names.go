// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ServiceOverrideNames is for endpoints of one's own in a provider's configuration. The
// cloud-controller-manager of 1.33.1 and later compares the names of services with those of
// the second version of the AWS SDK, and ignores a section with another name
// (kubernetes/cloud-provider-aws, pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and
// v1.34.3).
var ServiceOverrideNames = transform.Rule{
	ID: "service-override-names", Severity: transform.Error, Guards: TheChart, Acceptable: true,
	Doc: "A section ServiceOverride of the provider's configuration names a service as managers before 1.33 do, and no section names it as later ones do: the cloud-controller-manager of Kubernetes 1.33 and later ignores it and calls the public endpoint.",
}.Because("The manager ignores the section and calls the public endpoint of AWS, which a VPC without a way to the internet does not reach.", "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and v1.34.3", "Add the same URL with the service names that the finding lists.", "If the public endpoints can be reached from the control planes.")

// serviceNames are the names of services before 1.33.1, and since.
var serviceNames = []struct {
	before string
	since  []string
}{
	{"ec2", []string{"EC2"}},
	{"elasticloadbalancing", []string{"Elastic Load Balancing", "Elastic Load Balancing v2"}},
	{"kms", []string{"KMS"}},
}

// OverrideNames evaluates the text of a configuration, for a manager of a cluster's version.
func OverrideNames(at yamledit.Node, version string, report transform.Report) {
	if !k8s.From(version, "v1.33") {
		return
	}
	named := overridden(at.StringAt())
	for _, s := range serviceNames {
		if !slices.Contains(named, s.before) || slices.ContainsFunc(s.since, func(n string) bool { return slices.Contains(named, n) }) {
			continue
		}
		report(at, "the cloud-controller-manager of Kubernetes 1.33 and later ignores the section ServiceOverride of the service "+s.before+", and calls the public endpoint",
			"add a section with the same URL for Service = "+strings.Join(s.since, ", and one for Service = "))
	}
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
