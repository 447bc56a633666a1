// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

// file writes a text into a file of its own.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

// leading is a kubeconfig that leads to a server, with the credentials of a user in YAML.
func leading(t *testing.T, s *httptest.Server, user string) string {
	t.Helper()
	return file(t, "config", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: b
contexts: [{name: b, context: {cluster: c, user: u}}, {name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: %s}]
`, s.URL, user))
}

func authority(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func TestAConfigurationThatLeadsNowhereIsReported(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	s := memnet.Serve(t, http.NotFoundHandler())
	good := leading(t, s, "{token: x}")
	for name, c := range map[string]Connection{
		"no file":                        {},
		"a file that is not there":       {Kubeconfig: filepath.Join(t.TempDir(), "gone")},
		"a file that is none":            {Kubeconfig: file(t, "config", "{")},
		"a context that is not there":    {Kubeconfig: good, Context: "other"},
		"an authority that is none":      {Kubeconfig: good, Authority: file(t, "ca", "text")},
		"an authority that is not there": {Rancher: s.URL, Token: "x", Authority: "no-such-file"},
		"an address that is none":        {Rancher: "https://user:password@[", Token: "x"},
	} {
		c, err := Connect(c)
		assert.Truef(t, c == nil && errors.Is(err, ErrConfig) && !strings.Contains(err.Error(), "password"), "%s: %v", name, err)
	}
}

func TestAKubeconfigThatLeadsNowhereIsNamedWithWhatIsWrong(t *testing.T) {
	const advice = "; name another file with --kubeconfig or KUBECONFIG, or a context with --context"
	certificate := leading(t, memnet.Serve(t, http.NotFoundHandler()), "{client-certificate: /none.pem, client-key: /none.key}")
	for what, c := range map[string]Connection{
		"no such file or directory": {Kubeconfig: filepath.Join(t.TempDir(), "gone")},
		"it is not a kubeconfig, line 1: did not find expected node content": {Kubeconfig: file(t, "config", "{")},
		"it is not a kubeconfig":                        {Kubeconfig: file(t, "config", "a text")},
		"it names no cluster":                           {Kubeconfig: file(t, "config", "")},
		"context \"other\" does not exist":              {Kubeconfig: certificate, Context: "other"},
		"context \"gone\" does not exist":               {Kubeconfig: file(t, "config", "current-context: gone\nusers: [{name: u, user: {}}]")},
		"it names /none.pem: no such file or directory": {Kubeconfig: certificate},
	} {
		_, err := Connect(c)
		want := c.Kubeconfig + ": no cluster to connect to: " + what + advice
		assert.Truef(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
	}
	folder, bad, removed := t.TempDir(), file(t, "bad", "{"), filepath.Join(t.TempDir(), "gone")
	for several, want := range map[string]string{
		removed:                 removed + ": no cluster to connect to: no such file or directory" + advice,
		folder:                  folder + ": no cluster to connect to: is a directory" + advice,
		certificate + ":" + bad: bad + ": no cluster to connect to: it is not a kubeconfig, line 1: did not find expected node content" + advice,
	} {
		t.Setenv("KUBECONFIG", several)
		_, err := Connect(Connection{})
		assert.Truef(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
	}
}

func TestTheContextsOfAConfigurationAreListedInOrder(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	s := memnet.Serve(t, http.NotFoundHandler())
	names, err := Contexts(Connection{Kubeconfig: leading(t, s, "{}")})
	assert.Truef(t, err == nil && slices.Equal(names, []string{"a", "b"}), "%v %v", names, err)
	for _, text := range []string{"", "{"} {
		names, err := Contexts(Connection{Kubeconfig: file(t, "config", text)})
		assert.Truef(t, errors.Is(err, ErrConfig), "%v %v", names, err)
	}
}

func TestTheAuthorityThatIsGivenIsTrustedInPlaceOfTheKubeconfigs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memnet.Serve(t, answer(200, "{}"))
		text := assert.Value(os.ReadFile(leading(t, s, "{token: x}")))(t)
		strict := file(t, "config", strings.Replace(string(text), "insecure-skip-tls-verify: true", "", 1))
		for name, c := range map[string]struct {
			connection Connection
			trusted    bool
		}{
			"none":                  {Connection{Kubeconfig: strict}, false},
			"a file":                {Connection{Kubeconfig: strict, Authority: file(t, "ca", authority(s))}, true},
			"any":                   {Connection{Kubeconfig: strict, Insecure: true}, true},
			"a file for a Rancher":  {Connection{Rancher: s.URL + "/", Token: "x", Authority: file(t, "ca", authority(s))}, true},
			"a Rancher's own":       {Connection{Rancher: s.URL, Token: "x", AuthorityData: []byte(authority(s))}, true},
			"a Rancher without one": {Connection{Rancher: s.URL, Token: "x"}, false},
		} {
			c.connection.Dial, c.connection.RetryFor = memnet.Dial, time.Hour
			client := assert.Value(Connect(c.connection))(t)
			start := time.Now()
			_, err := client.Do(t.Context(), get)
			assert.Truef(t, (err == nil) == c.trusted && time.Since(start) <= 0 && (err == nil || strings.Contains(err.Error(), "check the address and the certificate authority of the cluster")), "%s: %v after %s", name, err, time.Since(start))
		}
	})
}

// kubectl proxy listens so, and needs nothing that client-go would make connections for.
func TestAServerWithoutTLSAndCredentialsIsReached(t *testing.T) {
	c, err := Connect(Connection{Kubeconfig: file(t, "config", `{apiVersion: v1, kind: Config, current-context: a,
contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "http://127.0.0.1:8001"}}]}`)})
	assert.Truef(t, err == nil && c.retry.tokens.next != nil && c.Address() == "http://127.0.0.1:8001", "%v: no connections to %s", err, c.Address())
}

// A server that another one redirects to does not get the token.
func TestARedirectIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, elsewhere := counted(code(200))
		other := memnet.Serve(t, handler)
		for _, status := range []int{301, 302, 303, 307, 308} {
			client := answering(t, code(status, "Location", other.URL+"/login?token=secret"))
			_, err := client.Do(t.Context(), get)
			want := fmt.Sprintf("get nodes: the API server answers %d: it sends on to %s/login, which is not followed; check the address and the credentials", status, other.URL)
			assert.True(t, err != nil && err.Error() == want && *elsewhere == 0, err)
		}
		_, err := answering(t, code(302, "Location", "https://sso.example.com/%zz/ticket?t=secret")).Do(t.Context(), get)
		assert.True(t, err != nil && err.Error() == "get nodes: the API server answers 302: Found", err)
	})
}

func TestAClusterOfARancherIsReachedByItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.UserAgent())
			w.Write([]byte("{}"))
		}))
		c := assert.Value(Connect(Connection{Rancher: s.URL + "/tools/", Token: "token-abcde:x", UserAgent: "rke-lm/test", Insecure: true, Dial: memnet.Dial}))(t)
		other, through := c.Through("c-m-abcdefgh")
		assert.Must(t, through, "not through a Rancher")
		for _, c := range []*Client{c, other} {
			_, err := c.Do(t.Context(), get)
			assert.NilError(t, err)
			at, is := c.Rancher()
			assert.Truef(t, is && at == s.URL+"/tools", "%s %t", at, is)
		}
		const tail = "/api/v1/nodes/a Bearer token-abcde:x rke-lm/test"
		assert.EqualSlices(t, asked, []string{"/tools/k8s/clusters/local" + tail, "/tools/k8s/clusters/c-m-abcdefgh" + tail})
		other.Reviewed()
		assert.True(t, !c.retry.reviewed.Load(), "the rights on one cluster are taken for those on another")
		direct := assert.Value(Connect(Connection{Kubeconfig: leading(t, s, "{}")}))(t)
		_, through = direct.Through("c-m-abcdefgh")
		assert.Truef(t, !through && direct.Address() == s.URL, "a server that is no Rancher leads to another; it is at %s", direct.Address())
	})
}

func TestAnAddressIsShownWithoutItsPassword(t *testing.T) {
	c, err := Connect(Connection{Rancher: "https://user:password@rancher.example.com", Token: "x"})
	assert.Truef(t, err == nil && c.Address() == "https://rancher.example.com/k8s/clusters/local", "%v %s", err, c.Address())
}

func TestPathsOfAConfigurationHoldInAnotherFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	s := memnet.Serve(t, http.NotFoundHandler())
	assert.NilError(t, os.WriteFile("ca.pem", []byte(authority(s)), 0o600))
	c := assert.Value(Connect(Connection{Rancher: s.URL, Token: "x", TokenFile: "token", Authority: "ca.pem"}))(t)
	text, err := c.Kubeconfig()
	assert.Truef(t, err == nil && strings.Contains(string(text), filepath.Join(folder, "token")) && strings.Contains(string(text), filepath.Join(folder, "ca.pem")), "%v\n%s", err, text)
}

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
