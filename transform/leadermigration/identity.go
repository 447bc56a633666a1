// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import "strings"

const accounts = "system:serviceaccount:" + Namespace + ":"

// ServiceAccount returns the user that a service account of the managers'
// namespace is to the authorizer.
func ServiceAccount(name string) string { return accounts + name }

// CloudAccount is the identity of the cloud-controller-manager.
func CloudAccount() string { return ServiceAccount("cloud-controller-manager") }

// Groups returns the groups that an API server puts a user into.
func Groups(user string) []string {
	if strings.HasPrefix(user, accounts) {
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + Namespace, "system:authenticated"}
	}
	return []string{"system:authenticated"}
}
