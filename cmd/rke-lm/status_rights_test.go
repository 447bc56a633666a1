// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const shadowOfCurlew = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"c-x7k2p","namespace":"fleet-default","labels":{"env":"prod"}},"spec":{},"status":{"clusterName":"c-x7k2p"}}`

// gated is a Rancher whose user may not get the cluster local.
func gated(t *testing.T) (*ranchertest.Server, []string) {
	t.Helper()
	r, flags := managing(t)
	r.Put(t, shadowOfCurlew)
	r.Do(func() { r.Gated = true })
	return r, flags
}

func TestStatusShowsRKE2ClustersAndSaysWhatMayNotBeListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, flags := gated(t)
		r := runHere(t, "", append([]string{"status", "-o", "json"}, flags...)...)
		var out report.Statuses
		err := json.Unmarshal([]byte(r.stdout), &out)
		assert.Mustf(t, err == nil && r.code == exitcode.Refused, "exit %d: %v\n%s%s", r.code, err, r.stdout, r.stderr)
		said := map[string]report.Status{}
		for _, s := range out.Clusters {
			said[s.Name] = s
		}
		s := said["fleet-default/harbour"]
		assert.True(t, s.Format == "rke2" && s.Problem == "", s)
		for _, name := range []string{"RKE1 clusters", "fleet-default/c-x7k2p"} {
			s := said[name]
			assert.Truef(t, strings.Contains(s.Problem, "get clusters.management.cattle.io local") && !strings.Contains(s.Problem, "imported"), "%s: %+v", name, s)
		}
	})
}

// localContext is a kubeconfig that leads to the own cluster of a Rancher.
func localContext(t *testing.T, r *ranchertest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: local\nusers: [{name: u, user: {token: %q}}]\ncontexts: [{name: local, context: {cluster: local, user: u}}]\nclusters: [{name: local, cluster: {server: %q, certificate-authority: %q}}]\n",
		ranchertest.Token, r.URL()+"/k8s/clusters/local", r.Authority(t))
	putFile(t, file, text)
	return file
}

// A user may see the clusters of a Rancher and not the nodes of its own, or the other way round.
func TestStatusOfRanchersOwnClusterShowsWhatMayBeSeen(t *testing.T) {
	for part, shown := range map[string]string{"/api/v1/nodes": "\nfleet-default/harbour ", "/apis/provisioning.cattle.io/v1/clusters": "\nc-x7k2p (curlew) "} {
		synctest.Test(t, func(t *testing.T) {
			rancher, _ := managing(t)
			rancher.Do(func() {
				rancher.Fault = func(req *http.Request) ranchertest.Fault {
					if strings.HasSuffix(req.URL.Path, part) {
						return ranchertest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"it is forbidden: User \"u-abcde\" cannot list resource"}`}
					}
					return ranchertest.Fault{}
				}
			})
			r := runHere(t, "", "status", "--kubeconfig", localContext(t, rancher))
			assert.Truef(t, r.code != exitcode.Done && strings.Contains(r.stdout, shown), "%s: exit %d\n%s%s", part, r.code, r.stdout, r.stderr)
		})
	}
}

func TestAnRKE1ClusterIsRefusedForTheRightThatRancherAsksFor(t *testing.T) {
	for _, verb := range []string{"lint -l env=prod", "plan --cluster curlew", "apply --next --cluster c-x7k2p", "migrate --yes --cluster curlew", "rollback --yes --cluster curlew", "leaders --cluster fleet-default/c-x7k2p"} {
		synctest.Test(t, func(t *testing.T) {
			_, flags := gated(t)
			r := runAt(t, flags, strings.Fields(verb)...)
			assert.Truef(t, r.code == exitcode.Refused && strings.Contains(r.stderr, "get clusters.management.cattle.io local") && !strings.Contains(r.stderr, "imported"), "%s: exit %d\n%s%s", verb, r.code, r.stdout, r.stderr)
			if strings.HasPrefix(verb, "lint") { // of several, those that may be seen are shown
				assert.True(t, strings.Contains(r.stdout, "fleet-default/harbour:") && strings.Contains(r.stderr, "RKE1 clusters: ") && strings.Contains(r.stderr, "error: fleet-default/c-x7k2p: it is not known"), r.stdout, r.stderr)
			}
		})
	}
}
