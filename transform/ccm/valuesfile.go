// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// chartKeys are the keys that the published charts read (kubernetes/cloud-provider-aws,
// charts/aws-cloud-controller-manager, from 0.0.5 to 0.0.11).
var chartKeys = []string{
	argsKey, "clusterRoleName", "clusterRoleRules", "dnsPolicy", "env", volumesKey, mountsKey, "hostNetworking", "image",
	"imagePullSecrets", "nameOverride", "namespace", selectorKey, "podAnnotations", "podSecurityContext", "resources",
	"roleBindingName", "roleName", "securityContext", "serviceAccount", "serviceAccountName", tolerationsKey,
}

// CheckValues refuses a document that is no values file of the chart.
func CheckValues(doc *yamledit.Document) error {
	root := doc.Root()
	const name = "name the file that helm reads with --values"
	kind := root.StringAt("kind")
	switch {
	case !root.Exists() || root.IsNull():
		return root.Errorf("the values file has no values", "write a value of the chart, such as args, or remove --ccm-values")
	case !root.IsMap():
		return root.Errorf("the values of a chart must be a mapping", name)
	case kind != "" && root.Get("apiVersion").Exists():
		return root.Errorf("this is an object of kind "+kind+", and no values file", name)
	case !slices.ContainsFunc(root.Entries(), func(e yamledit.Entry) bool { return slices.Contains(chartKeys, e.Key) }):
		return root.Errorf("no value of the chart "+ChartName+" is in this file: it has none of "+strings.Join([]string{argsKey, "image", selectorKey, tolerationsKey, "hostNetworking"}, ", "), name)
	}
	return nil
}

// CompleteValues queues what values without a HelmChart around them lack for the migration.
func (c Chart) CompleteValues(e *yamledit.Edit, o Options, nodes []NodeClass) {
	w := writing{c, Edits{File: e}}
	w.checkMounting(o)
	w.complete(o, nodes)
}
