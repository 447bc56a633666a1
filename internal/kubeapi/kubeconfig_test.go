// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// Other programs go the same way, and as the same user: not with more rights than a
// user has who is impersonated.
func TestAnotherProgramGoesTheSameWayAsTheSameUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	const text = `apiVersion: v1
kind: Config
clusters: [{name: orchard, cluster: {server: "https://10.0.1.20:6443", tls-server-name: orchard, insecure-skip-tls-verify: true, proxy-url: "http://proxy.example.org:3128"}}]
users: [{name: admin, user: {token: one-for-tests, as: viewer, as-uid: u-7, as-groups: [team], as-user-extra: {scope: [read]}}}]
contexts: [{name: orchard, context: {cluster: orchard, user: admin}}]
current-context: orchard
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(Connection{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	handed, err := c.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	got, err := clientcmd.Load(handed)
	if err != nil {
		t.Fatal(err)
	}
	want, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Clusters["orchard"], got.Clusters["rke-lm"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.AuthInfos["admin"], got.AuthInfos["rke-lm"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
