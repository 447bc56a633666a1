// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

// ecrCredentials depends on the images that the nodes have.
func (j *evaluation) ecrCredentials() []transform.Finding {
	if !k8s.From(j.Choice.Version, k8s.FirstWithout) {
		return nil
	}
	var from []string
	for _, n := range j.Nodes {
		from = append(from, n.ECRImages...)
	}
	slices.Sort(from)
	if from = slices.Compact(from); len(from) == 0 {
		return nil
	}
	return []transform.Finding{found("nodes", "pods use images from ECR ("+some(from)+"), and the kubelet of 1.27 has no credentials for ECR", "configure the credential provider ecr-credential-provider in the kubelets before the upgrade")}
}
