// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// asked is the right that a request to Rancher's own cluster needs; false for other requests.
func asked(request string) (r rollout.Access, is bool) {
	method, at, _ := strings.Cut(request, " ")
	u, err := url.Parse(at)
	if err != nil {
		return r, false
	}
	at = strings.TrimPrefix(u.Path, "/k8s/clusters/local")
	parts := strings.Split(strings.TrimPrefix(at, "/"), "/")
	switch {
	case len(parts) < 3:
		return r, false
	case parts[0] == "api":
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, parts = parts[1], parts[3:]
	default:
		return r, false // of a cluster, of Rancher's own API, or which resources there are
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Resource += "/" + parts[2]
	}
	r.Verb = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[method]
	if r.Verb == "get" && r.Name == "" {
		r.Verb = "list"
	}
	return r, true
}

// grants reports whether a row has a right, for an object of a cluster in fleet-default.
func grants(row action.Permission, r rollout.Access) bool {
	namespace := map[string]string{action.Home: "fleet-default"}[row.Namespace]
	verbs := []string{"controller", "migrate", "rollback", "status"}
	return row.Rancher && slices.ContainsFunc(row.For, func(v string) bool { return slices.Contains(verbs, v) }) &&
		row.Group == r.Group && row.Resource == r.Resource && slices.Contains(row.Verbs, r.Verb) &&
		(row.Namespace == "" || cmp.Or(namespace, row.Namespace) == r.Namespace) && (row.Name == "" || row.Name == action.Own || row.Name == r.Name)
}

// What the controller asks of Rancher's own cluster is what deploy/ grants. What it watches, and
// its lease, are seen in the lab.
func TestTheControllerNeedsNoMoreThanItsRoles(t *testing.T) {
	on(t, `{"selector":{},"rollbackOnFailure":true,"maxFailures":1,"until":"switch-to-external"}`, []string{"alder", "birch", "cedar"}, func(t *testing.T, w *world) {
		w.Worlds["birch"].Stick(true)
		w.Rancher.Edit(w.Worlds["cedar"].Path, func(o map[string]any) {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{"objectset.rio.cattle.io/id": "default-clusters"}
			o["metadata"].(map[string]any)["labels"].(map[string]any)["objectset.rio.cattle.io/hash"] = "1"
		})
		w.run()
		w.await(v1alpha1.Complete, "")
		used := map[string]bool{}
		for _, request := range w.Rancher.Requests {
			r, is := asked(request)
			if !is {
				continue
			}
			granted := slices.ContainsFunc(rollout.Requirements(), func(row action.Permission) bool { return grants(row, r) })
			review := strings.HasPrefix(r.Group, "authorization.k8s.io") // everyone can ask for himself
			assert.Truef(t, granted || review, "%s: no role grants %s", request, r)
			used[r.Verb+" "+r.Resource] = true
		}
		for _, want := range []string{"patch leadermigrations/status", "create events", "patch clusters", "create leases"} {
			assert.Truef(t, used[want], "nothing asks to %s: %v", want, used)
		}
	})
}
