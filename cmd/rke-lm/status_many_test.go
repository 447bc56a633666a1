// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// manyOfARancher starts a Rancher with so many clusters, and returns the flags that lead to it.
func manyOfARancher(tb testing.TB, count int) (*ranchertest.Server, []string) {
	tb.Helper()
	r := ranchertest.Start(tb)
	for i := range count {
		text := assert.Value(yaml.YAMLToJSON([]byte(fleet.Cluster(i))))(tb)
		r.Put(tb, string(text))
	}
	return r, []string{"--rancher-url", r.URL(), "--cacert", r.Authority(tb), "--token-file", r.TokenFile(tb)}
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
			assert.Truef(t, r.code == exitcode.Failed && strings.Count(r.stdout, "\n") == count+1, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
			return time.Since(start)
		}
		if all, more := took(run.StatusServers), took(run.StatusServers+1); more < all*3/2 {
			t.Errorf("%s for %d, %s for one more", all, run.StatusServers, more)
		}
	})
}

// labelled is a cluster whose machines are read, because its selectors match many labels.
func labelled(name string) string {
	var entries []string
	for i := range 12 {
		entries = append(entries, fmt.Sprintf(`{"config": {"kubelet-arg": ["v=%d"]}, "machineLabelSelector": {"matchLabels": {"label-%d": "yes"}}}`, i, i))
	}
	return `{"apiVersion": "provisioning.cattle.io/v1", "kind": "Cluster", "metadata": {"name": "` + name + `", "namespace": "fleet-default"},
 "spec": {"kubernetesVersion": "v1.26.15+rke2r1", "rkeConfig": {"machineGlobalConfig": {"cloud-provider-name": "aws"}, "machineSelectorConfig": [` + strings.Join(entries, ", ") + `]}}}`
}

func TestStatusReadsABoundedNumberOfClustersOfARancherAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, flags := manyOfARancher(t, 0)
		for i := range 3 * run.StatusReads {
			s.Put(t, labelled(fmt.Sprintf("c%d", i)))
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
		r := runAt(t, flags, "status")
		assert.Truef(t, strings.Count(r.stdout, "\n") == 3*run.StatusReads+1 && most == run.StatusReads, "%d at once\n%s%s", most, r.stdout, r.stderr)
	})
}

// BenchmarkStatus is for how long someone waits for 500 clusters of one Rancher which answers after 50 ms.
func BenchmarkStatus(b *testing.B) {
	s, flags := manyOfARancher(b, 500)
	s.Slow = func(*http.Request) { time.Sleep(50 * time.Millisecond) }
	for b.Loop() {
		var errs bytes.Buffer
		code := execute(b.Context(), append([]string{"status"}, flags...), streams{in: strings.NewReader(""), out: io.Discard, err: &errs, network: memnet.Dial})
		assert.Must(b, code == exitcode.Done, code, errs.String())
	}
}
