// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/kube"
)

func TestAnAddressIsTakenUpToTheRancher(t *testing.T) {
	for given, want := range map[string]string{
		"https://rancher.example.com":                      "https://rancher.example.com",
		" https://rancher.example.com/\n":                  "https://rancher.example.com",
		"HTTPS://rancher.example.com:8443/":                "https://rancher.example.com:8443",
		"https://example.com/rancher":                      "https://example.com/rancher",
		"https://example.com/rancher/v3":                   "https://example.com/rancher",
		"https://example.com/a/dashboard/home?x=y#z":       "https://example.com/a",
		"https://rancher.example.com/k8s/clusters/c-m-abc": "https://rancher.example.com",
		"https://[::1]:8443/v3":                            "https://[::1]:8443",
	} {
		if got, err := address(given); err != nil || got != want {
			t.Errorf("%s is %q, not %s: %v", given, got, want, err)
		}
	}
}

// The URL of a Rancher may have a path, next to others.
func TestARancherBelowAPathIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := open(t)
		r.Do(func() { r.Prefix = "/tools/rancher" })
		from := source(t, r)
		from.Rancher += "/tools/rancher/dashboard/"
		s, err := Open(from)
		if err != nil {
			t.Fatal(err)
		}
		find(t, s, "orchard")
		c, err := s.Downstream("c-m-8kqlhbsd")
		if err != nil || c.Address() != r.URL()+"/tools/rancher/k8s/clusters/c-m-8kqlhbsd" {
			t.Errorf("%v %s", err, c.Address())
		}
		from.Authority = ""
		if s, err = Open(from); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(t.Context(), Query{}); err == nil || !strings.Contains(err.Error(), r.URL()+"/tools/rancher/v3/settings/cacerts") {
			t.Errorf("%v", err)
		}
	})
}

func TestAnAddressIsShownWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Source{Connection: kube.Connection{Kubeconfig: kubeconfig(t, "https://u-abcde:hunter2@127.0.0.1:1/k8s/clusters/local")}})
		if err != nil {
			t.Fatal(err)
		}
		if at, is := s.local.Rancher(); !is || at != "https://127.0.0.1:1" || s.local.Address() != at+"/k8s/clusters/local" {
			t.Errorf("%s %s", at, s.local.Address())
		}
		if _, err := s.Find(t.Context(), Query{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	})
}
