// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// managerName is part of the name of what runs the cloud-controller-manager of any cloud: of its
// chart, image or object.
var managerName = regexp.MustCompile(`cloud-controller|cloud-provider|\b(ccm|cpi)\b`)

// OtherManager returns the name of a HelmChart or workload that runs the cloud-controller-manager
// of a cloud that is not AWS; "" for none.
func OtherManager(docs []*yamledit.Document) string {
	for _, d := range docs {
		root := d.Root()
		names := []string{root.StringAt("metadata", "name")}
		switch root.StringAt("kind") {
		case "HelmChart":
			names = append(names, root.StringAt("spec", "chart"))
		case "DaemonSet", "Deployment":
			for _, c := range root.Get("spec", "template", "spec", "containers").Items() {
				names = append(names, c.StringAt("image"))
			}
		default:
			continue
		}
		if all := strings.ToLower(strings.Join(names, " ")); managerName.MatchString(all) && !strings.Contains(all, "aws") {
			return names[0]
		}
	}
	return ""
}
