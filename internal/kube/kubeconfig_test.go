// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// given is a configuration with all that leads to a cluster.
const given = `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://rancher.example.com/k8s/clusters/local", proxy-url: "http://u:p@proxy.example.com:3128", tls-server-name: inner.example.com}}]
users: [{name: a, user: {token: "token-abcde:x", as: u-other, as-uid: "7", as-groups: [readers], as-user-extra: {scopes: [view]}}}]
`

func connected(t *testing.T, text string) *Client {
	t.Helper()
	return assert.Value(Connect(Connection{Kubeconfig: file(t, "config", text), UserAgent: "test"}))(t)
}

// Another program must not be someone else, nor go another way.
func TestAConfigurationIsPassedOnWhole(t *testing.T) {
	c, _ := connected(t, given).Through("c-m-abcdefgh")
	text := assert.Value(c.Kubeconfig())(t)
	got := assert.Value(clientcmd.RESTConfigFromKubeConfig(text))(t)
	want := c.config
	assert.True(t, got.Host == "https://rancher.example.com/k8s/clusters/c-m-abcdefgh" && got.BearerToken == want.BearerToken && got.ServerName == "inner.example.com", got)
	assert.True(t, reflect.DeepEqual(got.Impersonate, want.Impersonate) && got.Impersonate.UserName == "u-other" && got.Impersonate.UID == "7" && len(got.Impersonate.Extra) == 1, got.Impersonate)
	assert.Truef(t, got.Proxy != nil && strings.Contains(string(text), "proxy-url: http://u:p@proxy.example.com:3128"), "another way:\n%s", text)
}

func TestCredentialsOfAProgramAreNotPassedOn(t *testing.T) {
	c := connected(t, strings.Replace(given, `token: "token-abcde:x"`, "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, interactiveMode: Never}", 1))
	text, err := c.Kubeconfig()
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "--rancher-url"), "%v %s", err, text)
}
