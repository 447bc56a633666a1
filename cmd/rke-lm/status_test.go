// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
)

// contexts is a kubeconfig of so many contexts; those that a server is named for lead
// there, and the others to the usual one.
func contexts(t *testing.T, usual *apitest.Server, count int, others map[int]string) string {
	t.Helper()
	text := "apiVersion: v1\nkind: Config\nusers: [{name: viewer, user: {token: a-token-for-tests}}]\n"
	clusters, list := "clusters:\n", "contexts:\n"
	for i := range count {
		address := usual.URL()
		if other := others[i]; other != "" {
			address = other
		}
		clusters += fmt.Sprintf("- {name: c%02d, cluster: {server: %q}}\n", i, address)
		list += fmt.Sprintf("- {name: c%02d, context: {cluster: c%02d, user: viewer}}\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "config")
	putFile(t, file, text+clusters+list)
	return file
}

func TestStatusOfManyClustersToleratesOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t)
		s.Fill(3)
		silent := apitest.Start(t)
		silent.Fault = on("/", apitest.Fault{Hang: 10 * time.Minute})
		config := contexts(t, s, 12, map[int]string{3: silent.URL(), 7: "http://127.0.0.1:1"})
		r := runHere(t, "", "status", "--kubeconfig", config)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		assert.Truef(t, r.code == transform.ExitFailed && len(lines) == 13 && strings.Count(r.stdout, "install-ccm") == 10, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		for i, line := range lines[1:] {
			wrong := i == 3 || i == 7
			assert.True(t, strings.HasPrefix(line, fmt.Sprintf("c%02d ", i)) && wrong == strings.Contains(line, "run the command again"), line)
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
			faulty(part, forbidden)(t, rancher)
			r := runHere(t, "", "status", "--kubeconfig", localContext(t, rancher))
			assert.Truef(t, r.code != transform.ExitDone && strings.Contains(r.stdout, shown), "%s: exit %d\n%s%s", part, r.code, r.stdout, r.stderr)
		})
	}
}

func TestStatusReadsABoundedNumberOfServersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t)
		took := func(count int) time.Duration {
			down := map[int]string{}
			for i := range count {
				down[i] = "http://127.0.0.1:1"
			}
			start := time.Now()
			r := runHere(t, "", "status", "--kubeconfig", contexts(t, s, count, down))
			assert.Truef(t, r.code == transform.ExitFailed && strings.Count(r.stdout, "\n") == count+1, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
			return time.Since(start)
		}
		if all, more := took(run.StatusServers), took(run.StatusServers+1); more < all*3/2 {
			t.Errorf("%s for %d, %s for one more", all, run.StatusServers, more)
		}
	})
}

// manySelectors match so many labels that the machines of the cluster are read.
func manySelectors() (entries []any) {
	for i := range 12 {
		entries = append(entries, map[string]any{
			"config":               map[string]any{"kubelet-arg": []any{fmt.Sprintf("v=%d", i)}},
			"machineLabelSelector": map[string]any{"matchLabels": map[string]any{fmt.Sprintf("label-%d", i): "yes"}},
		})
	}
	return entries
}

func TestStatusReadsABoundedNumberOfClustersOfARancherAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ranchertest.Start(t)
		for i := range 3 * run.StatusReads {
			object := parsedYAML(t, small(fmt.Sprintf("c%d", i)))
			field(object, "spec", "rkeConfig").(map[string]any)["machineSelectorConfig"] = manySelectors()
			s.Put(t, string(assert.Value(json.Marshal(object))(t)))
		}
		var mu sync.Mutex
		now, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			now += n
			most = max(most, now)
		}
		s.Slow = func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/machines") {
				count(1)
				time.Sleep(time.Second)
				count(-1)
			}
		}
		r := runHere(t, "", strings.Fields("status"+flagsTo(t, s))...)
		assert.Truef(t, strings.Count(r.stdout, "\n") == 3*run.StatusReads+1 && most == run.StatusReads, "%d at once\n%s%s", most, r.stdout, r.stderr)
	})
}
