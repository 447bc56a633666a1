// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// Right is what a request needed; false for one about no object, as for a version.
func (r Request) Right() (rollout.Access, bool) {
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	var right rollout.Access
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		right.Group, parts = parts[1], parts[3:]
	default:
		return right, false
	}
	if r.Cluster != localName {
		right.Cluster = r.Cluster
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		right.Namespace, parts = parts[1], parts[2:]
	}
	right.Resource, right.Name = parts[0], r.Name
	if len(parts) > 1 {
		right.Name = parts[1]
	}
	if len(parts) > 2 {
		right.Resource += "/" + parts[2]
	}
	right.Verb = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	if r.Method == http.MethodGet && len(parts) == 1 {
		right.Verb = "list"
		if q, err := url.ParseQuery(r.Query); err == nil && (q.Get("watch") == "true" || q.Get("watch") == "1") {
			right.Verb = "watch"
		}
	}
	return right, true
}

// Unused returns the rights that no request made use of, also for what is not there. Rancher itself asks for
// [rollout.GatePermission], and for [rollout.ClusterPermission] with every request to another cluster than its own.
func Unused(needed []rollout.Access, requests []Request) []rollout.Access {
	return slices.DeleteFunc(slices.Clone(needed), func(n rollout.Access) bool {
		entered := func(r Request) bool { return r.Cluster != localName && n == rollout.ClusterPermission(r.Cluster) }
		return n == rollout.GatePermission || slices.ContainsFunc(requests, entered) || slices.ContainsFunc(requests, func(r Request) bool {
			used, is := r.Right()
			return is && r.Status != http.StatusForbidden && used.Cluster == n.Cluster && used.Group == n.Group && used.Resource == n.Resource && used.Verb == n.Verb &&
				(n.Name == "" || used.Name == n.Name) && (n.Namespace == "" || used.Namespace == n.Namespace || used.Namespace == "")
		})
	})
}
