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
		d := assert.Value(yamledit.Parse(c))(t)
		docs = append(docs, d)
	}
	return docs
}

func TestGrantedReadsRightsAsTheAuthorizerDoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(string) string
		granted bool
	}{
		{"the grant itself", func(s string) string { return s }, true},
		{"other names for the same rights", func(s string) string { return replace(s, "name: cloud-provider-extraction-migration", "name: leases") }, true},
		{"wildcards", func(s string) string {
			return replace(replace(s, "      - coordination.k8s.io\n", "      - '*'\n"), "      - leases\n", "      - '*'\n")
		}, true},
		{"a ClusterRole through a RoleBinding", func(s string) string { return replace(s, "kind: Role\n", "kind: ClusterRole\n") }, true},
		{"create bound to a name never matches", func(s string) string {
			return replace(s, "    verbs:\n      - create\n", "    resourceNames: [cloud-provider-extraction-migration]\n    verbs:\n      - create\n")
		}, false},
		{"another lease", func(s string) string {
			return replace(s, "      - cloud-provider-extraction-migration\n", "      - kube-controller-manager\n")
		}, false},
		{"no update", func(s string) string { return replace(s, "      - update\n", "") }, false},
		{"another user", func(s string) string {
			return replace(s, "name: system:kube-controller-manager", "name: system:kube-scheduler")
		}, false},
		{"a role in another namespace", func(s string) string { return strings.Replace(s, "namespace: kube-system", "namespace: default", 1) }, false},
		{"a binding in another namespace", func(s string) string {
			role, binding, _ := strings.Cut(s, "---\n")
			return role + "---\n" + strings.Replace(binding, "namespace: kube-system", "namespace: default", 1)
		}, false},
		{"the role alone", func(s string) string { role, _, _ := strings.Cut(s, "---\n"); return role }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Granted(documents(t, c.change(Grant(Lease))), Lease), c.granted, "granted is")
		})
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
