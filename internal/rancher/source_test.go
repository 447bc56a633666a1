// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// commandLine writes the configuration of Rancher's command line.
func commandLine(t *testing.T, server map[string]string) {
	t.Helper()
	text := assert.Value(json.Marshal(map[string]any{"Servers": map[string]any{"here": server}, "CurrentServer": "here"}))(t)
	configure(t, string(text))
}

func configure(t *testing.T, text string) {
	t.Helper()
	folder := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(folder, "cli2.json"), []byte(text), 0o600))
	t.Setenv(folderVariable, folder)
}

// kubeconfig writes one for a server, with more about the cluster, and the token.
func kubeconfig(t *testing.T, server string, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {%s}}]\nusers: [{name: a, user: {token: %q}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n",
		strings.Join(append(more, fmt.Sprintf("server: %q", server)), ", "), ranchertest.Token)
	assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestEverySourceLeadsToTheRancher(t *testing.T) {
	key, secret, _ := strings.Cut(ranchertest.Token, ":")
	config := func(t *testing.T, r *ranchertest.Server) string {
		return kubeconfig(t, r.URL()+"/k8s/clusters/local", "certificate-authority: "+r.Authority(t))
	}
	for name, make := range map[string]func(*testing.T, *ranchertest.Server) Source{
		"a file with the token": func(t *testing.T, r *ranchertest.Server) Source { return source(t, r) },
		"the variable": func(t *testing.T, r *ranchertest.Server) Source {
			t.Setenv(TokenVariable, ranchertest.Token)
			return Source{Connection: kube.Connection{Rancher: r.URL() + "/", Authority: r.Authority(t)}}
		},
		"the command line": func(t *testing.T, r *ranchertest.Server) Source {
			commandLine(t, map[string]string{"url": r.URL(), "tokenKey": ranchertest.Token, "cacert": r.Certificate()})
			return Source{CLI: CurrentServer}
		},
		"the command line, by keys": func(t *testing.T, r *ranchertest.Server) Source {
			commandLine(t, map[string]string{"url": r.URL(), "accessKey": key, "secretKey": secret, "cacert": r.Certificate()})
			return Source{CLI: "here"}
		},
		"a kubeconfig": func(t *testing.T, r *ranchertest.Server) Source {
			return Source{Connection: kube.Connection{Kubeconfig: config(t, r)}}
		},
		"a kubeconfig and a certificate": func(t *testing.T, r *ranchertest.Server) Source {
			return Source{Connection: kube.Connection{Kubeconfig: config(t, r), Authority: r.Authority(t)}}
		},
		"an address of the browser": func(t *testing.T, r *ranchertest.Server) Source {
			return Source{Connection: kube.Connection{Rancher: r.URL() + "/dashboard/c/_/manager/provisioning.cattle.io.cluster?mode=view#tab", TokenFile: r.TokenFile(t), Authority: r.Authority(t)}}
		},
		"an address of the API": func(t *testing.T, r *ranchertest.Server) Source {
			return Source{Connection: kube.Connection{Rancher: r.URL() + "/v3/", TokenFile: r.TokenFile(t), Authority: r.Authority(t)}}
		},
		"any certificate": func(t *testing.T, r *ranchertest.Server) Source {
			return Source{Connection: kube.Connection{Rancher: r.URL(), TokenFile: r.TokenFile(t), Insecure: true}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := open(t)
				from := make(t, r)
				from.Dial = memnet.Dial
				s := assert.Value(Open(from))(t)
				find(t, s, "orchard")
				assert.Value(s.Downstream("c-m-8kqlhbsd"))(t)
			})
		})
	}
}

func TestASourceThatLeadsNowhereSaysWhatToDo(t *testing.T) {
	t.Setenv(TokenVariable, "")
	empty := filepath.Join(t.TempDir(), "empty")
	good := filepath.Join(t.TempDir(), "good")
	assert.NilError(t, errors.Join(os.WriteFile(empty, []byte("two words\n"), 0o600), os.WriteFile(good, []byte("token-abc:x\n"), 0o600)))
	for _, c := range []struct {
		name, config string
		source       Source
		want         string
	}{
		{"no token", "", Source{Connection: kube.Connection{Rancher: "https://rancher.example.com"}}, TokenVariable},
		{"not one token", "", Source{Connection: kube.Connection{Rancher: "https://rancher.example.com", TokenFile: empty}}, "not one token"},
		{"no such file", "", Source{Connection: kube.Connection{Rancher: "https://rancher.example.com", TokenFile: empty + "x"}}, "check the path"},
		{"no host", "", Source{Connection: kube.Connection{Rancher: "https:///dashboard", TokenFile: good}}, "https://rancher.example.com"},
		{"no URL", "", Source{Connection: kube.Connection{Rancher: "https://rancher.example.com:hunter2 x/", TokenFile: good}}, "the address of a Rancher must be a URL such as"},
		{"a token in the address", "", Source{Connection: kube.Connection{Rancher: "https://token-abcde:hunter2@rancher.example.com", TokenFile: good}}, "the address of a Rancher contains credentials; remove them, and set"},
		{"a token in the address of a kubeconfig", "", Source{Connection: kube.Connection{Kubeconfig: kubeconfig(t, "https://token-abcde:hunter 2@rancher.example.com")}}, "no URL"},
		{"a file that is no certificate", "", Source{Connection: kube.Connection{Rancher: "https://rancher.example.com", TokenFile: good, Authority: good}}, "check the certificates"},
		{"no TLS", "", Source{Connection: kube.Connection{Rancher: "http://rancher.example.com", TokenFile: good}}, "must start with https://"},
		{"no current server", `{"Servers":{"here":{}}}`, Source{CLI: CurrentServer}, "rancher server switch"},
		{"no such server", `{"Servers":{"here":{}}}`, Source{CLI: "there"}, "it has here"},
		{"a server without a token", `{"Servers":{"here":{"url":"https://x"}},"CurrentServer":"here"}`, Source{CLI: CurrentServer}, "rancher login"},
		{"a server without TLS", `{"Servers":{"here":{"url":"http://x","tokenKey":"a:b"}},"CurrentServer":"here"}`, Source{CLI: CurrentServer}, "https://"},
		{"no configuration", `{"Servers":{"here":{"tokenKey":"token-abc:hunter2"`, Source{CLI: CurrentServer}, "not a configuration"},
		{"no kubeconfig", "", Source{Connection: kube.Connection{Kubeconfig: empty + "x"}}, "--kubeconfig"},
	} {
		t.Run(c.name, func(t *testing.T) {
			configure(t, c.config)
			_, err := Open(c.source)
			assert.True(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "hunter2"), err)
		})
	}
	t.Setenv(folderVariable, filepath.Join(t.TempDir(), "nowhere"))
	assert.Error(Open(Source{CLI: CurrentServer}))(t, "rancher login")
}

func TestACertificateThatIsNotTrustedSaysHowToGetIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := open(t)
		s := assert.Value(Open(Source{Connection: kube.Connection{Dial: memnet.Dial, Rancher: r.URL(), TokenFile: r.TokenFile(t), RetryFor: time.Minute}}))(t)
		_, err := s.Find(t.Context(), Query{})
		assert.True(t, err != nil && strings.Contains(err.Error(), "/v3/settings/cacerts") && unreached(err), err)
	})
}

func TestATokenThatIsNotAcceptedSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := open(t)
		t.Setenv(TokenVariable, "token-abcde:expired")
		s := assert.Value(Open(Source{Connection: kube.Connection{Dial: memnet.Dial, Rancher: r.URL(), Authority: r.Authority(t)}}))(t)
		_, err := s.Find(t.Context(), Query{})
		assert.True(t, denied(err) && !strings.Contains(err.Error(), "token-abcde"), err)
	})
}

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
		got, err := address(given)
		assert.Truef(t, err == nil && got == want, "%s is %q, not %s: %v", given, got, want, err)
	}
}

// The URL of a Rancher may have a path, next to others.
func TestARancherBelowAPathIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := open(t)
		r.Do(func() { r.Prefix = "/tools/rancher" })
		from := source(t, r)
		from.Rancher += "/tools/rancher/dashboard/"
		s := assert.Value(Open(from))(t)
		find(t, s, "orchard")
		c, err := s.Downstream("c-m-8kqlhbsd")
		assert.Truef(t, err == nil && c.Address() == r.URL()+"/tools/rancher/k8s/clusters/c-m-8kqlhbsd", "%v %s", err, c.Address())
		from.Authority = ""
		s = assert.Value(Open(from))(t)
		assert.Error(s.Find(t.Context(), Query{}))(t, r.URL()+"/tools/rancher/v3/settings/cacerts")
	})
}

func TestAnAddressIsShownWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := assert.Value(Open(Source{Connection: kube.Connection{Kubeconfig: kubeconfig(t, "https://u-abcde:hunter2@127.0.0.1:1/k8s/clusters/local")}}))(t)
		at, is := s.local.Rancher()
		assert.Truef(t, is && at == "https://127.0.0.1:1" && s.local.Address() == at+"/k8s/clusters/local", "%s %s", at, s.local.Address())
		_, err := s.Find(t.Context(), Query{})
		assert.True(t, err != nil && !strings.Contains(err.Error(), "hunter2"), err)
	})
}

func TestARancherGivesItsVersionToEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		assert.Equal(t, s.Version(t.Context()), "v2.8.5")
	})
}

func TestAnAPIServerThatIsNotReachedThroughRancherHasNoVersionOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ranchertest.Start(t)
		config := kubeconfig(t, r.URL(), "certificate-authority: "+r.Authority(t))
		s := assert.Value(Open(Source{Connection: kube.Connection{Dial: memnet.Dial, Kubeconfig: config}}))(t)
		assert.Equal(t, s.Version(t.Context()), "")
	})
}
