// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ServiceOverrideNames is for endpoints of one's own in a provider's configuration. The
// cloud-controller-manager of 1.33.1 and later compares the names of services with those of
// the second version of the AWS SDK, and ignores a section with another name
// (kubernetes/cloud-provider-aws, pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and
// v1.34.3).
var ServiceOverrideNames = transform.Rule{
	ID: "service-override-names", Severity: transform.Error, Guards: TheChart,
	Doc: "A section ServiceOverride of the provider's configuration names a service as managers before 1.33 do, and no section names it as later ones do: the cloud-controller-manager of Kubernetes 1.33 and later ignores it and calls the public endpoint.",
}.Because("The manager ignores the section and calls the public endpoint of AWS, which a VPC without a way to the internet does not reach.", "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go at v1.33.0, v1.33.1 and v1.34.3", "Add the same URL with the service names that the finding lists.", "If the public endpoints can be reached from the control planes.")

// OverrideNames evaluates the text of a configuration, for a manager of a cluster's version.
func OverrideNames(at yamledit.Node, version string, report transform.Report) {
	if !k8s.From(version, "v1.33") {
		return
	}
	for _, s := range aws.IgnoredOverrides(at.StringAt()) {
		report(at, "the cloud-controller-manager of Kubernetes 1.33 and later ignores the section ServiceOverride of the service "+s.Before+", and calls the public endpoint",
			"add a section with the same URL for Service = "+strings.Join(s.Since, ", and one for Service = "))
	}
}
