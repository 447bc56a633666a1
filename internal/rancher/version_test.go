// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestARancherGivesItsVersionToEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		if got := s.Version(t.Context()); got != "v2.8.5" {
			t.Errorf("%q", got)
		}
	})
}

func TestAnAPIServerThatIsNotReachedThroughRancherHasNoVersionOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kubeconfig := filepath.Join(t.TempDir(), "config")
		text := "clusters: [{name: a, cluster: {server: " + ranchertest.Start(t).URL() + "}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Source{Connection: kube.Connection{Dial: memnet.Dial, Kubeconfig: kubeconfig}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Version(t.Context()); got != "" {
			t.Errorf("%q", got)
		}
	})
}
