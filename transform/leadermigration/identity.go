// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import "strings"

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
