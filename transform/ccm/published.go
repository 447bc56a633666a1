// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// publishedTemplates are the digests of what the published charts render that take
// their arguments from args: those of 0.0.4 to 0.0.6, 0.0.6 in cloud-provider-aws
// v1.24.0, 0.0.7, 0.0.8, 0.0.8 in v1.32.0 up to 0.0.11, and 0.0.11 in v1.37.0
// (kubernetes/cloud-provider-aws, charts/aws-cloud-controller-manager).
var publishedTemplates = []string{
	"19abcc5e5a620336c25e959f2999e42eedefe41ffe66eb79ab63d99e87c4c756",
	"e12b90c9f64fde63f258b2a6ff6b8542997e7d50505c6264ee319f8e71ea0916",
	"9515a18f9a27bb016f456e67c6200e44474f392c4d46fdd1c9eaf7a91e3435d7",
	"e4bef95c927fdb972027644640e45bf573648e09acfd014e2e9403bc9c495873",
	"c4217c761c4118515c0c44263bafc9f2e7f28c910cf03115842fc6394aa1228b",
	"017c55dda144668c22d53a3b9ea683e2ed203ffcffbdac82c904767b747e8804",
}

// PublishedTemplates reports whether a digest is that of a published chart's
// templates.
func PublishedTemplates(digest string) bool { return slices.Contains(publishedTemplates, digest) }

const providerArg = "--cloud-provider=" + aws.Name

// defaultArgs are the arguments of the published chart.
var defaultArgs = []any{"--v=2", providerArg}

// defaultValues are as much of the published chart's values.yaml as is checked. Its
// image has another tag in each version, so that a file without one pins none.
var defaultValues = map[string]any{
	argsKey:        defaultArgs,
	"nodeSelector": map[string]any{controlPlaneRole: ""},
	"tolerations": []any{
		map[string]any{"key": Uninitialized.Key, "value": "true", "effect": string(corev1.TaintEffectNoSchedule)},
		map[string]any{"key": "node-role.kubernetes.io/master", "effect": string(corev1.TaintEffectNoSchedule)},
		map[string]any{"key": controlPlaneRole, "effect": string(corev1.TaintEffectNoSchedule)},
	},
}

// publishedValues returns the values of the published chart, whose name a mirror
// keeps.
func publishedValues(r helmchart.Reference) map[string]any {
	if r.Name != ChartName {
		return nil
	}
	return defaultValues
}

// isManager reports whether a HelmChart installs the cloud-controller-manager of
// AWS. A chart of another name, and an archive that cannot be read, do so by the
// object's name, the image or the provider among the arguments.
func (c Chart) isManager() bool {
	switch {
	case c.Archive != nil && c.Archive.Name == ChartName:
		return true
	case c.Archive == nil && c.ArchiveErr == nil && c.Reference.Name == ChartName:
		return true
	case c.Name() == ChartName:
		return true
	}
	repository, _ := c.Value("image", "repository").(string)
	if a, set := args.Last(c.Args(), "cloud-provider"); set {
		return a.Value == aws.Name
	}
	return repository != "" && IsManager(repository, nil)
}

// Foreign reports why the chart may not do with its values what the published one
// does, or "".
func (c Chart) Foreign() string {
	switch {
	case c.ArchiveErr != nil:
		return "chartContent cannot be read: " + c.ArchiveErr.Error()
	case c.Archive != nil && !PublishedTemplates(c.Archive.Templates):
		return "the templates in chartContent are not those of the published chart"
	case c.Archive == nil && c.Reference.Name != ChartName:
		return "the chart " + c.Reference.Name + " is not in the file, and its name is not that of the published chart"
	}
	return ""
}
