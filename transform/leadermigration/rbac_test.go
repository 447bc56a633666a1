// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func documents(t *testing.T, stream string) []*yamledit.Document {
	t.Helper()
	var docs []*yamledit.Document
	for _, c := range yamledit.Split("rbac.yaml", []byte(stream)) {
		docs = append(docs, assert.Value(yamledit.Parse(c))(t))
	}
	return docs
}

func TestGrantedReadsRightsAsTheAuthorizerDoes(t *testing.T) {
	grant := Grant(Lease)
	role, binding, _ := strings.Cut(grant, "---\n")
	for _, c := range []struct {
		name, text string
		granted    bool
	}{
		{"the grant itself", grant, true},
		{"other names for the same rights", replace(grant, "name: cloud-provider-extraction-migration", "name: leases"), true},
		{"wildcards", replace(replace(grant, "      - coordination.k8s.io\n", "      - '*'\n"), "      - leases\n", "      - '*'\n"), true},
		{"a ClusterRole through a RoleBinding", replace(grant, "kind: Role\n", "kind: ClusterRole\n"), true},
		{"create bound to a name never matches", replace(grant, "    verbs:\n      - create\n", "    resourceNames: [cloud-provider-extraction-migration]\n    verbs:\n      - create\n"), false},
		{"another lease", replace(grant, "      - cloud-provider-extraction-migration\n", "      - kube-controller-manager\n"), false},
		{"no update", replace(grant, "      - update\n", ""), false},
		{"another user", replace(grant, "name: system:kube-controller-manager", "name: system:kube-scheduler"), false},
		{"a role in another namespace", strings.Replace(grant, "namespace: kube-system", "namespace: default", 1), false},
		{"a binding in another namespace", role + "---\n" + strings.Replace(binding, "namespace: kube-system", "namespace: default", 1), false},
		{"the role alone", role, false},
	} {
		assert.Equal(t, Granted(documents(t, c.text), Lease), c.granted, c.name, "granted is")
	}
}

func TestConflictFindsWhatHasTheGrantsNames(t *testing.T) {
	role, _, _ := strings.Cut(Grant(Lease), "---\n")
	_, found := conflict(documents(t, role), Lease)
	assert.True(t, found, "the role was not found")
	_, found = conflict(documents(t, replace(role, "namespace: kube-system", "namespace: default")), Lease)
	assert.True(t, !found, "a role of another namespace was found")
}

func replace(s, old, new string) string { return strings.ReplaceAll(s, old, new) }

func TestAnotherLeaseHasARoleOfItsOwn(t *testing.T) {
	const other = "harbour-migration"
	docs := documents(t, Grant(other))
	assert.True(t, Granted(docs, other) && !Granted(docs, Lease), "the right is not to the lease that was chosen")
	_, found := conflict(docs, Lease)
	assert.True(t, !found, "the two roles have one name")
}
