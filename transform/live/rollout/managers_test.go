// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestManagersAreRecognizedByTheirMarks(t *testing.T) {
	for _, c := range []struct{ name, metadata, want string }{
		{"no one", `{}`, "[]"},
		{"a person", `{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"kubectl-edit","fieldsV1":{"f:spec":{}}}]}`, "[]"},
		{"Rancher's interface", `{"managedFields":[{"manager":"rancher","fieldsV1":{"f:spec":{}}},{"manager":"Mozilla","fieldsV1":{"f:spec":{}}}]}`, "[]"},
		{"Rancher itself", `{"annotations":{"objectset.rio.cattle.io/id":"provisioning-cluster-create","objectset.rio.cattle.io/owner-gvk":"management.cattle.io/v3, Kind=Cluster"}}`, "[]"},
		{"Fleet", `{"annotations":{"objectset.rio.cattle.io/id":"default-clusters-prod"}}`, "[{Fleet the annotation objectset.rio.cattle.io/id}]"},
		{"Fleet by its writer", `{"managedFields":[{"manager":"fleetagent","fieldsV1":{"f:spec":{"f:rkeConfig":{}}}}]}`, "[{Fleet the field manager fleetagent}]"},
		{"Argo CD, with two marks", `{"annotations":{"argocd.argoproj.io/tracking-id":"a:b"},"managedFields":[{"manager":"argocd-controller","fieldsV1":{"f:spec":{}}}]}`, "[{Argo CD the annotation argocd.argoproj.io/tracking-id}]"},
		{"Flux", `{"labels":{"kustomize.toolkit.fluxcd.io/name":"clusters"}}`, "[{Flux the label kustomize.toolkit.fluxcd.io/name}]"},
		{"Terraform", `{"managedFields":[{"manager":"Terraform","fieldsV1":{"f:spec":{}}}]}`, "[{Terraform the field manager Terraform}]"},
		{"a provider of Terraform", `{"managedFields":[{"manager":"terraform-provider-rancher2_v3.0.0","fieldsV1":{"f:spec":{}}}]}`, "[{Terraform the field manager terraform-provider-rancher2_v3.0.0}]"},
		{"one that writes labels alone", `{"managedFields":[{"manager":"Terraform","fieldsV1":{"f:metadata":{}}}]}`, "[]"},
		{"one that writes the status alone", `{"managedFields":[{"manager":"argocd-controller","subresource":"status","fieldsV1":{"f:spec":{}}}]}`, "[]"},
		{"a chart", `{"annotations":{"meta.helm.sh/release-name":"clusters"}}`, "[{Helm the annotation meta.helm.sh/release-name}]"},
		{"two", `{"annotations":{"meta.helm.sh/release-name":"c","objectset.rio.cattle.io/id":"default-c"}}`, "[{Fleet the annotation objectset.rio.cattle.io/id} {Helm the annotation meta.helm.sh/release-name}]"},
	} {
		list, err := managersOf([]byte(`{"metadata":` + c.metadata + `}`))
		assert.Truef(t, err == nil && fmt.Sprint(list) == c.want, "%s: %v %v, and not %s", c.name, err, list, c.want)
	}
	list, err := managersOf([]byte(`{"spec":{"clusterTemplateRevisionName":"cattle-global-data:ctr-x"}}`))
	assert.Truef(t, err == nil && len(list) == 1, "%v %v", list, err)
	_, err = managersOf([]byte(`[`))
	assert.True(t, err != nil, "half of an object has no owner that is known")
}
