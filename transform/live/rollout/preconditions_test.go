// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAClusterIsChangedOrRefusedWithTheReason(t *testing.T) {
	plain := []byte(`{"metadata":{"name":"a"},"spec":{"paused":true}}`) // paused means nothing on Rancher's own kind
	marked := []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	fleet := []byte(`{"metadata":{"annotations":{"objectset.rio.cattle.io/id":"default-a"}}}`)
	engine := func(etcd string) []byte {
		return []byte(`{"spec":{"rancherKubernetesEngineConfig":{"services":{"etcd":{` + etcd + `}}}}}`)
	}
	backedUp, bare, null := engine(`"backupConfig":{}`), []byte(`{"spec":{"rancherKubernetesEngineConfig":{}}}`), engine(`"backupConfig":null`)
	for _, c := range []struct {
		name   string
		seen   Change
		accept string
		want   string // "" for no refusal
	}{
		{"a plain one", Change{Object: plain, Progress: &Progress{Done: true}}, "", ""},
		{"one that is deleted", Change{Object: []byte(`{"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"}}`)}, "", deleting},
		{"a paused control plane", Change{Object: plain, ControlPlane: marked}, "", paused},
		{"a paused Cluster of Cluster API", Change{Object: plain, Infrastructure: []byte(`{"spec":{"paused":true}}`)}, "", paused},
		{"a pause is not to be accepted", Change{Object: plain, ControlPlane: marked}, paused, paused},
		{"an annotation that Rancher does not obey", Change{Object: marked}, "", pauseNotObeyed},
		{"another one", Change{Object: plain, Infrastructure: marked}, "", pauseNotObeyed},
		{"an annotation that Rancher does not obey, accepted", Change{Object: marked, Infrastructure: marked}, pauseNotObeyed, ""},
		{"spec.paused means nothing on an RKEControlPlane", Change{Object: plain, ControlPlane: plain}, "", ""},
		{"a snapshot of RKE1", Change{Object: backedUp, Snapshot: true}, "", ""},
		{"a snapshot of RKE1 without a configuration for it", Change{Object: bare, Snapshot: true}, "", noSnapshot},
		{"one that is null", Change{Object: null, Snapshot: true}, "", noSnapshot},
		{"no way round", Change{Object: bare, Snapshot: true}, noSnapshot, noSnapshot},
		{"no snapshot of RKE1", Change{Object: bare}, "", ""},
		{"a snapshot of RKE2", Change{Object: plain, Snapshot: true}, "", ""},
		{"one that is in progress", Change{Object: plain, Progress: &Progress{Waiting: "machine m: x"}}, "", "machine m: x"},
		{"one that is in progress, accepted", Change{Object: plain, Progress: &Progress{Waiting: "machine m: x"}}, NotSettled, ""},
		{"one that failed", Change{Object: plain, Progress: &Progress{Failed: "machine m gave up"}}, "", "machine m gave up"},
		{"one of Fleet", Change{Object: fleet}, "", "Fleet created its object"},
		{"one of Fleet, accepted", Change{Object: fleet}, ManagedElsewhere, ""},
		{"one that is no object", Change{Object: []byte("[]")}, "", "its origin is unknown:"},
	} {
		c.seen.Title = "fleet-default/a"
		findings := Preconditions(c.seen, []string{c.accept})
		err := Refuse(c.seen.Title, findings)
		refused := errors.As(err, new(*Refused)) && strings.HasPrefix(err.Error(), "fleet-default/a: ") && strings.Contains(err.Error(), c.want)
		assert.Truef(t, refused == (c.want != "") && (refused || err == nil), "%s: %v does not say %q", c.name, err, c.want)
		for _, f := range findings {
			assert.True(t, f.Rule != "" && f.Message != "" && f.Fix != "" && strings.HasPrefix(f.Path, "fleet-default/a"), c.name, f)
		}
	}
}

func TestValuesOfAReleaseAreRefusedWithoutAFileAndReportedWithOne(t *testing.T) {
	release := func(file string, keys ...string) Change {
		return Change{Title: "c-x7k2p", Release: &Release{Namespace: "kube-system", Name: "ccm", Replaced: keys, File: file}}
	}
	for _, c := range []struct {
		name, accept string
		seen         Change
		rule         string
		refused      bool
	}{
		{"no release", "", Change{}, "", false},
		{"nothing is replaced", "", release(""), "", false},
		{"without a file", "", release("", "image.repository"), ValuesReplaced, true},
		{"accepted", ValuesReplaced, release("", "image.repository"), ValuesReplaced, false},
		{"with a file", "", release("values.yaml", "image.repository"), valuesNotInFile, false},
	} {
		for _, object := range [][]byte{[]byte(`{}`), nil} { // nil for the release alone
			c.seen.Object = object
			findings := Preconditions(c.seen, []string{c.accept})
			err := Refuse(c.seen.Title, findings)
			refused := (*Refused)(nil)
			is := errors.As(err, &refused) && refused.OnlyValues()
			assert.Truef(t, is == c.refused && (err == nil || is), "%s: %v", c.name, err)
			assert.Truef(t, c.rule == "" == (len(findings) == 0) && (len(findings) == 0 || findings[0].Rule == c.rule && strings.Contains(findings[0].Message, ": image.repository") && strings.Contains(findings[0].Fix, "helm get values ccm --namespace kube-system")), "%s: %+v", c.name, findings)
		}
	}
	deleted := release("", "image.repository")
	deleted.Object = []byte(`{"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"}}`)
	refused := (*Refused)(nil)
	err := Refuse("c", Preconditions(deleted, nil))
	assert.True(t, errors.As(err, &refused) && !refused.OnlyValues(), err)
}

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
