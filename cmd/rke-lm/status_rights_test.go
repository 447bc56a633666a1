// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

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
			faulty(part, forbidden)(t, rancher)
			r := runHere(t, "", "status", "--kubeconfig", localContext(t, rancher))
			assert.Truef(t, r.code != exitcode.Done && strings.Contains(r.stdout, shown), "%s: exit %d\n%s%s", part, r.code, r.stdout, r.stderr)
		})
	}
}
