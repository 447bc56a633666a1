// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// manyOfARancher starts a Rancher with so many clusters, and returns the flags that lead to it.
func manyOfARancher(tb testing.TB, count int) (*ranchertest.Server, []string) {
	tb.Helper()
	r := ranchertest.Start(tb)
	for i := range count {
		text, err := yaml.YAMLToJSON([]byte(fleet.Cluster(i)))
		if err != nil {
			tb.Fatal(err)
		}
		r.Put(tb, string(text))
	}
	return r, []string{"--rancher-url", r.URL(), "--cacert", r.Authority(tb), "--token-file", r.TokenFile(tb)}
}

func TestStatusOfManyClustersOfARancherIsInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 60
		_, flags := manyOfARancher(t, count)
		r := runAt(t, flags, "status")
		again := runAt(t, flags, "status")
		if lines := strings.Count(r.stdout, "\n"); r.code != exitcode.Done || lines != count+1 || r.stdout != again.stdout {
			t.Errorf("exit %d, %d lines\n%s%s", r.code, lines, r.stdout, r.stderr)
		}
		for i := range count {
			if !strings.Contains(r.stdout, fmt.Sprintf("-%d ", i)) {
				t.Errorf("no cluster %d", i)
			}
		}
	})
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
			if r.code != exitcode.Failed || strings.Count(r.stdout, "\n") != count+1 {
				t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			return time.Since(start)
		}
		if all, more := took(statusLooks), took(statusLooks+1); more < all*3/2 {
			t.Errorf("%s for %d, %s for one more", all, statusLooks, more)
		}
	})
}

// BenchmarkStatus is for how long someone waits for the table of 500 clusters of one Rancher
// which answers after 50 ms: its lines come together.
func BenchmarkStatus(b *testing.B) {
	s, flags := manyOfARancher(b, 500)
	s.Fault = func(*http.Request) ranchertest.Fault {
		time.Sleep(50 * time.Millisecond)
		return ranchertest.Fault{}
	}
	for b.Loop() {
		if r := runHere(b, "", append([]string{"status"}, flags...)...); r.code != exitcode.Done {
			b.Fatal(r.code, r.stderr)
		}
	}
}
