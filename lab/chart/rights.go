// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rke-lm/rke-lm/transform/args"
)

// right is something that the manager does with its service account.
type right struct {
	group, resource string
	verbs           []string
}

// always are the rights that the manager uses whatever its arguments: its leases,
// the migration lease among them, and what its controllers read and write
// (k8s.io/cloud-provider).
var always = []right{
	{"coordination.k8s.io", "leases", []string{"create", "get", "update"}},
	{"", "events", []string{"create", "patch", "update"}},
	{"", "nodes", []string{"get", "list", "watch", "patch", "update", "delete"}},
	{"", "nodes/status", []string{"patch"}},
	{"", "services", []string{"list", "watch", "patch", "update"}},
	{"", "services/status", []string{"patch", "update"}},
}

// credentials are those that it uses with an account for each controller.
var credentials = []right{
	{"", "serviceaccounts", []string{"create", "get"}},
	{"", "serviceaccounts/token", []string{"create"}},
}

// used are the rights that arguments call for.
func used(list []args.Arg) []right {
	if a, set := args.Last(list, "use-service-account-credentials"); set && a.True() {
		return append(slices.Clone(always), credentials...)
	}
	return always
}

// Lacks names the rights that the arguments call for and the role does not give.
func (r *Rendered) Lacks() []string {
	var missing []string
	for _, u := range used(r.Args()) {
		for _, verb := range u.verbs {
			if !slices.ContainsFunc(r.Role.Rules, func(rule rbacv1.PolicyRule) bool { return allows(rule, u, verb) }) {
				missing = append(missing, fmt.Sprintf("%s %s", verb, u.resource))
			}
		}
	}
	return missing
}

func allows(rule rbacv1.PolicyRule, u right, verb string) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, want) || slices.Contains(list, "*")
	}
	return len(rule.ResourceNames) == 0 && has(rule.APIGroups, u.group) && has(rule.Resources, u.resource) && has(rule.Verbs, verb)
}

// Args are the manager's arguments.
func (r *Rendered) Args() []args.Arg {
	var list []args.Arg
	for _, text := range r.Container().Args {
		list = append(list, args.Parse(text))
	}
	return list
}
