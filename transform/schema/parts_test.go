// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"testing"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestADocumentInPartsDecodesAsTheWholeDoes(t *testing.T) {
	for name, text := range map[string]string{
		"a cluster":                "metadata: {name: a}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig: {cni: calico, a: [1, 2]}\n    additionalManifest: x\n    dataDirectories: {k8sDistro: /d}\n    machinePools: [{name: p, etcdRole: true}]\n  localClusterAuthEndpoint: {enabled: true}\n",
		"unknown fields":           "odd: 1\nspec:\n  odd: 1\n  rkeConfig:\n    odd: {a: b}\n    machinePools: [{odd: 1}, {odd: 1}]\n    etcd: {odd: 1}\n",
		"the path alone":           "spec: {rkeConfig: {}}\n",
		"no path":                  "spec: {kubernetesVersion: a}\n",
		"nothing":                  "{}\n",
		"null on the path":         "spec: {rkeConfig: }\n",
		"a list on the path":       "spec: {rkeConfig: [a]}\n",
		"a wrong type in a part":   "spec: {rkeConfig: {machinePools: s}, odd: 1}\n",
		"a wrong type around them": "spec: {rkeConfig: {additionalManifest: a}, kubernetesVersion: 1}\n",
		"null and empty":           "spec: {rkeConfig: {machineGlobalConfig: , machinePools: [], additionalManifest: ''}}\n",
		"a merge key":              "x: &x {additionalManifest: a, odd: 1}\nspec: {rkeConfig: {<<: *x, machineGlobalConfig: {a: b}}}\n",
		"an alias":                 "x: &x {rkeConfig: {additionalManifest: a}}\nspec: *x\n",
		"odd keys":                 "007: a\nspec: {rkeConfig: {007: a, true: b, '': c, ~: d, \"e\\\"\\n\": f}}\n",
		"a list":                   "[a]\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := root(t, text)
			want, strict := DecodeStrict[provv1.Cluster](root, "a Cluster")
			for range 2 { // what is kept is the same
				have, parts := DecodeParts[provv1.Cluster](root, "a Cluster", "spec", "rkeConfig")
				if strict.Fits() != parts.Fits() || strict.Fits() && !reflect.DeepEqual(want, have) {
					t.Errorf("%+v (%v)\n%+v (%v)", want, strict.err, have, parts.err)
				}
				if strict.Fits() && !reflect.DeepEqual(strict.fields, parts.fields) {
					t.Errorf("%v\n%v", strict.fields, parts.fields)
				}
			}
		})
	}
}

func TestOnlyPartsThatChangedAreDecodedAgain(t *testing.T) {
	doc := root(t, "spec: {rkeConfig: {additionalManifest: a, machineGlobalConfig: {a: b}}}\n").Document()
	before, _ := DecodeParts[provv1.Cluster](doc.Root(), "a Cluster", "spec", "rkeConfig")
	e := doc.Edit()
	e.Set(doc.Root().Get("spec", "rkeConfig", "additionalManifest"), "b")
	next, _, err := e.Apply()
	if err != nil {
		t.Fatal(err)
	}
	after, _ := DecodeParts[provv1.Cluster](next.Root(), "a Cluster", "spec", "rkeConfig")
	if after.Spec.RKEConfig.AdditionalManifest != "b" || before.Spec.RKEConfig.AdditionalManifest != "a" {
		t.Errorf("%q, %q", before.Spec.RKEConfig.AdditionalManifest, after.Spec.RKEConfig.AdditionalManifest)
	}
	same := func(read func(provv1.Cluster) any) bool {
		return reflect.ValueOf(read(before)).Pointer() == reflect.ValueOf(read(after)).Pointer()
	}
	if !same(func(c provv1.Cluster) any { return c.Spec.RKEConfig.MachineGlobalConfig.Data }) {
		t.Error("a part that did not change was decoded again")
	}
	parts := 0
	for _, text := range next.Root().JSONParts("spec", "rkeConfig") {
		yamledit.Recall(next, text, func() part[provv1.Cluster] { parts++; return part[provv1.Cluster]{} })
	}
	if parts > 0 {
		t.Errorf("%d parts were not kept", parts)
	}
}
