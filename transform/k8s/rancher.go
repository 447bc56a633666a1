// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"strings"

	"golang.org/x/mod/semver"
)

// RancherMinor is what a migration depends on and differs between the minors of Rancher, each fact with its source.
type RancherMinor struct {
	Minor string // such as v2.8
	// Webhook is the minor of rancher/webhook that it installs (rancher build.yaml, or
	// package/Dockerfile up to 2.8).
	Webhook string
	// ClusterAPI is the version in which its controllers write cluster.x-k8s.io (rancher
	// pkg/capr/common.go); v1beta1 is served by all of them.
	ClusterAPI string
	// ExternalAWS is its first release that knows the provider external-aws of RKE; ""
	// where it provisions no clusters of RKE: 2.12 removed them (rancher commit
	// 2252fc8cf2).
	ExternalAWS string
	// OrderKept is its first release whose webhook keeps the order of kube-apiserver-arg
	// where a PSACT is set; "" for none. Before it ranges over a map (rancher/webhook
	// pkg/resources/provisioning.cattle.io/v1/cluster/mutator.go, toMap, until v0.6.7 and
	// v0.7.2).
	OrderKept string
	// ArgsKept is its first release whose webhook keeps every argument there; "" for none.
	// Before it drops those without a value, and all but the last one of a flag (the same
	// file, keyValueArgs, until v0.6.12, v0.7.6 and v0.8.2).
	ArgsKept string
	// PlainEntry means that the page of its interface that edits a cluster fails to load
	// where machineSelectorConfig has no entry without a selector (rancher/dashboard
	// #9529, #9888, #11987).
	PlainEntry bool
	// TokenForbidden is its first release that answers 403, for the user
	// system:unauthenticated, to a request for a managed cluster whose token it does not
	// accept; "" where it answers 401. From then on these requests can also have the token of
	// a service account of that cluster, so that its permissions are checked in any case
	// (rancher pkg/multiclustermanager/routes.go, saauthed: in v2.9.0 and every release up to
	// v2.14.4, in none up to v2.8.15; pkg/auth/requests/service_account.go).
	TokenForbidden string
}

// RancherMinors lists the minors, in their order.
func RancherMinors() []RancherMinor {
	return []RancherMinor{
		{Minor: "v2.7", Webhook: "v0.3", ClusterAPI: "v1beta1", ExternalAWS: "v2.7.11", PlainEntry: true},
		{Minor: "v2.8", Webhook: "v0.4", ClusterAPI: "v1beta1", ExternalAWS: "v2.8.0", PlainEntry: true},
		{Minor: "v2.9", Webhook: "v0.5", ClusterAPI: "v1beta1", ExternalAWS: "v2.9.0", PlainEntry: true, TokenForbidden: "v2.9.0"},
		{Minor: "v2.10", Webhook: "v0.6", ClusterAPI: "v1beta1", ExternalAWS: "v2.10.0", OrderKept: "v2.10.7", TokenForbidden: "v2.10.0"},
		{Minor: "v2.11", Webhook: "v0.7", ClusterAPI: "v1beta1", ExternalAWS: "v2.11.0", OrderKept: "v2.11.3", ArgsKept: "v2.11.7", TokenForbidden: "v2.11.0"},
		{Minor: "v2.12", Webhook: "v0.8", ClusterAPI: "v1beta1", OrderKept: "v2.12.0", ArgsKept: "v2.12.3", TokenForbidden: "v2.12.0"},
		{Minor: "v2.13", Webhook: "v0.9", ClusterAPI: "v1beta1", OrderKept: "v2.13.0", ArgsKept: "v2.13.0", TokenForbidden: "v2.13.0"},
		{Minor: "v2.14", Webhook: "v0.10", ClusterAPI: "v1beta2", OrderKept: "v2.14.0", ArgsKept: "v2.14.0", TokenForbidden: "v2.14.0"},
	}
}

// Rancher is a release of Rancher, such as v2.8.5 or 2.8.5.
type Rancher struct {
	RancherMinor
	Known bool // the table has its minor

	version string
}

// RancherOf looks a release up. One that is not in the table is treated as the strictest of those that are.
func RancherOf(version string) Rancher {
	v := Rancher{RancherMinor: strictest, version: "v" + strings.TrimPrefix(version, "v")}
	for _, r := range RancherMinors() {
		if r.Minor == semver.MajorMinor(v.version) {
			v.RancherMinor, v.Known = r, true
		}
	}
	return v
}

// strictest is a Rancher of which nothing good is known.
var strictest = RancherMinor{PlainEntry: true}

// Since reports whether the release is as late as one of its minor, which the table has;
// "" is later than all.
func (v Rancher) Since(first string) bool { return first != "" && atLeast(v.version, first) }

// FirstRancher returns the releases from which on a fact holds, with those before it in the
// table, for messages: "2.11.7, 2.12.3 and later".
func FirstRancher(of func(RancherMinor) string) string {
	var firsts []string
	for _, r := range RancherMinors() {
		if first := of(r); first != "" {
			firsts = append(firsts, strings.TrimPrefix(first, "v"))
		}
	}
	for len(firsts) > 1 && strings.HasSuffix(firsts[len(firsts)-1], ".0") && strings.HasSuffix(firsts[len(firsts)-2], ".0") {
		firsts = firsts[:len(firsts)-1]
	}
	return strings.Join(firsts, ", ") + " and later"
}
