// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"net/http"
	"slices"
	"strings"
)

// Version is what every Rancher for tests reports: of the last minor that can run in-tree clusters.
const Version = "v2.8.5"

const management = "management.cattle.io"

// open are the resources of that group that Rancher does not guard (rancher v2.8.5
// pkg/api/steve/disallow, AllowAll).
var open = []string{
	"clusterroletemplatebindings", "globalrolebindings", "globalroles", "podsecurityadmissionconfigurationtemplates", "projects", "projectroletemplatebindings",
}

// guards reports whether a path of Rancher's own cluster is one that Rancher guards: the list of a
// resource of the group, or below one.
func guards(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 4 || parts[0] != "apis" || parts[1] != management {
		return false // another group, or its discovery
	}
	resource := parts[3]
	if resource == "namespaces" && len(parts) > 5 {
		resource = parts[5]
	}
	return !slices.Contains(open, resource)
}

// Door answers what Rancher itself answers: its version, its certificate, and who is not let through.
// known means that the token of the request is one, and lets that its user may get the cluster local, without
// which none reaches management.cattle.io of Rancher's own cluster: the answer is a code and nothing else
// (rancher v2.8.5 pkg/api/steve/proxy/proxy.go, matchManagementCRDs and authLocalCluster). false for a
// request that a cluster is to answer.
func Door(w http.ResponseWriter, r *http.Request, certificate string, known bool, lets func() bool) bool {
	path, local := strings.CutPrefix(r.URL.Path, localRoute)
	var a answer
	switch {
	case r.URL.Path == "/rancherversion":
		a = asJSON(http.StatusOK, map[string]string{"Version": Version, "GitCommit": "0000000", "RancherPrime": "false"})
	case r.URL.Path == "/v3/settings/cacerts":
		a = asJSON(http.StatusOK, map[string]string{"id": "cacerts", "type": "setting", "name": "cacerts", "value": certificate})
	case local && guards(path) && !(known && lets()):
		a = answer{status: http.StatusForbidden}
	case !known && !(local && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")):
		a = asJSON(http.StatusUnauthorized, map[string]string{"type": "error", "status": "401", "message": "Unauthorized 401: must authenticate"})
	default:
		return false // its own API server gets a token that it does not know (rancher/steve pkg/proxy, setupUserAuth)
	}
	a.write(w)
	return true
}
