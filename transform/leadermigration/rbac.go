// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package leadermigration knows the migration lease, who may lock it, the manifests
// that permit it, and the configuration that says which controllers a manager runs
// under it.
//
// Invariant: rights are read as the RBAC authorizer reads them, never by the
// name of a role; a configuration is read as the manager of its version reads
// it, which accepts most mistakes silently.
package leadermigration

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// Lease is the name of the migration lease unless it is chosen.
	Lease = transform.DefaultLease
	// Namespace holds the managers and their leases.
	Namespace = "kube-system"
	// ManagerUser is the identity of a kube-controller-manager with a client
	// certificate. Up to Kubernetes 1.30 its bootstrap rules grant get and
	// update on its main lease only.
	ManagerUser = "system:kube-controller-manager"
)

//go:embed lease-rbac.yaml
var grant string

// Grant returns a Role and a RoleBinding, both named as the lease, that let both
// managers lock it. They add to what is there, where the published patch of the
// bootstrap role replaces its rules.
func Grant(lease string) string { return strings.ReplaceAll(grant, Lease, lease) }

// Granted reports whether the documents let user ManagerUser lock a lease.
func Granted(docs []*yamledit.Document, lease string) bool {
	rules := rulesOf(docs)
	return !slices.ContainsFunc([]string{"get", "create", "update"}, func(verb string) bool {
		return !slices.ContainsFunc(rules, func(r yamledit.Node) bool { return allows(r, verb, lease) })
	})
}

// conflict returns a document that has the kind and name of one in Grant.
func conflict(docs []*yamledit.Document, lease string) (yamledit.Node, bool) {
	for _, d := range docs {
		switch d.Root().StringAt("kind") {
		case "Role", "RoleBinding":
			if d.Root().StringAt("metadata", "name") == lease && d.Root().StringAt("metadata", "namespace") == Namespace {
				return d.Root(), true
			}
		}
	}
	return yamledit.Node{}, false
}

// usedBy returns a binding that refers to the role in Grant. The documents at
// these indexes do not count.
func usedBy(docs []*yamledit.Document, except []int, lease string) (yamledit.Node, bool) {
	for i, d := range docs {
		ref := d.Root().Get("roleRef")
		if slices.Contains(except, i) || d.Root().StringAt("metadata", "namespace") != Namespace {
			continue
		}
		if ref.StringAt("kind") == "Role" && ref.StringAt("name") == lease {
			return d.Root(), true
		}
	}
	return yamledit.Node{}, false
}

// binds reports whether a binding is for ManagerUser and covers the namespace.
func binds(b yamledit.Node) bool {
	switch b.StringAt("kind") {
	case "ClusterRoleBinding":
	case "RoleBinding":
		if b.StringAt("metadata", "namespace") != Namespace {
			return false
		}
	default:
		return false
	}
	return slices.ContainsFunc(b.Get("subjects").Items(), func(s yamledit.Node) bool {
		return s.StringAt("kind") == "User" && s.StringAt("name") == ManagerUser
	})
}

// rulesOf returns the rules of the roles that bindings refer to: the first one of a kind and name.
func rulesOf(docs []*yamledit.Document) (rules []yamledit.Node) {
	bound := map[[2]string]bool{}
	for _, d := range docs {
		if binds(d.Root()) {
			bound[[2]string{d.Root().StringAt("roleRef", "kind"), d.Root().StringAt("roleRef", "name")}] = true
		}
	}
	for _, d := range docs {
		role := d.Root()
		kind, of := role.StringAt("kind"), [2]string{role.StringAt("kind"), role.StringAt("metadata", "name")}
		if bound[of] && (kind == "ClusterRole" || kind == "Role" && role.StringAt("metadata", "namespace") == Namespace) {
			delete(bound, of)
			rules = append(rules, role.Get("rules").Items()...)
		}
	}
	return rules
}

// allows reports whether a rule allows a verb on a lease. A create request has no
// name yet, so a rule with resourceNames never matches it.
func allows(rule yamledit.Node, verb, lease string) bool {
	if !has(rule, "apiGroups", "coordination.k8s.io") || !has(rule, "resources", "leases") || !has(rule, "verbs", verb) {
		return false
	}
	names := rule.Get("resourceNames")
	if names.Len() == 0 {
		return true
	}
	return verb != "create" && has(rule, "resourceNames", lease)
}

func has(rule yamledit.Node, field, want string) bool {
	return slices.ContainsFunc(rule.Get(field).Items(), func(n yamledit.Node) bool {
		s, _ := n.String()
		return s == want || s == "*" && field != "resourceNames"
	})
}

const accounts = "system:serviceaccount:"

// ServiceAccount returns the user that a service account is to the authorizer.
func ServiceAccount(namespace, name string) string { return accounts + namespace + ":" + name }

// CloudAccount is the identity of the cloud-controller-manager in kube-system.
func CloudAccount() string { return ServiceAccount(Namespace, CloudManager) }

// Groups returns the groups that an API server puts a user into.
func Groups(user string) []string {
	if account, is := strings.CutPrefix(user, accounts); is {
		namespace, _, _ := strings.Cut(account, ":")
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	return []string{"system:authenticated"}
}
