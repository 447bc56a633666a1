// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

// gatekeeper accepts one token.
func gatekeeper(t *testing.T, token *string) (s *httptest.Server, asked *int) {
	handler, asked := counted(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte("{}"))
	})
	return memnet.Serve(t, handler), asked
}

func TestATokenThatExpiresIsNotTriedAgainUnlessItsFileHasAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "first"
		s, asked := gatekeeper(t, &accepted)
		path := file(t, "token", "\ufefffirst\n")
		client := assert.Value(Connect(Connection{Rancher: s.URL, TokenFile: path, Insecure: true, RetryFor: time.Hour, Dial: memnet.Dial}))(t)
		_, err := client.Do(t.Context(), get)
		assert.NilError(t, err)
		accepted, *asked = "second", 0
		_, err = client.Do(t.Context(), get)
		assert.Truef(t, errors.As(Refusal(err), new(*Denied)) && *asked == 1, "asked %d times: %v", *asked, err)
		assert.NilError(t, os.WriteFile(path, []byte("second"), 0o600))
		_, err = client.Do(t.Context(), get)
		assert.True(t, err == nil, err)
		for _, text := range []string{"", "two words"} { // it is being written
			assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
			assert.Equal(t, client.retry.tokens.token(), "", text)
		}
	})
}

// login is what a program for credentials prints.
func login(token string) string {
	return `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + token + `"}}'`
}

// program is a user whose credentials a script prints, and the file in which it notes
// that it ran.
func program(t *testing.T, script string) (user, ran string) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	command := file(t, "login", "#!/bin/sh\necho ran >> "+ran+"\n"+script+"\n")
	return "{exec: {apiVersion: client.authentication.k8s.io/v1, command: " + command + ", interactiveMode: Never}}", ran
}

func TestAProgramForCredentialsIsCalledAgainOnlyOnceItGaveSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "from-a-program"
		s, _ := gatekeeper(t, &accepted)
		called := func(script string) (times int, err error) {
			user, ran := program(t, script)
			c := assert.Value(Connect(Connection{Kubeconfig: leading(t, s, user), RetryFor: 2 * time.Second, Dial: memnet.Dial}))(t)
			_, err = c.Do(t.Context(), get)
			return strings.Count(string(assert.Value(os.ReadFile(ran))(t)), "ran"), err
		}
		n, err := called("exit 1")
		assert.True(t, n == 1 && NoCredentials(err) && strings.HasSuffix(err.Error(), " failed with exit code 1; log in again, or check the program that the kubeconfig has for the user, and run the command again"), n, err)
		n, err = called(login(accepted))
		assert.True(t, n == 1 && err == nil, n, err)
		n, err = called(login("expired"))
		assert.True(t, n >= 2 && errors.As(Refusal(err), new(*Denied)), n, err)
	})
}

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
