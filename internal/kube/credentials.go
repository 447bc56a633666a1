// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// tokens sends the token that a file holds now. client-go by itself reads the file once
// a minute, for as long as which a new token would be of no use.
type tokens struct {
	next http.RoundTripper
	file string // with a token; "" for none
	// renewed means that a program renews the credentials, so that what was refused may
	// be accepted.
	renewed bool
	// given means that credentials were there: the server answered, whatever it was.
	given atomic.Bool
}

// RoundTrip implements http.RoundTripper. A token that cannot be read is left to
// client-go, which has the last one.
func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	if token := t.token(); token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := t.next.RoundTrip(req)
	if err == nil {
		t.given.Store(true)
	}
	return res, err
}

// changed reports whether the file holds another token than a request had.
func (t *tokens) changed(sent *http.Request) bool {
	token := t.token()
	return token != "" && sent.Header.Get("Authorization") != "Bearer "+token
}

// token is what the file holds; "" where it cannot be read, or is being written.
func (t *tokens) token() string {
	if t.file == "" {
		return ""
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return ""
	}
	token, _ := Token(string(text))
	return token
}

// Token takes the blanks around a token away, and the mark that an editor begins a file
// with; false where that does not leave one token.
func Token(text string) (string, bool) {
	token := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", false
	}
	return token, true
}

// Kubeconfig returns a configuration that leads other programs to the same server, on
// the same way and in the same name. It holds secrets.
func (c *Client) Kubeconfig() ([]byte, error) {
	const name = "rke-lm"
	config, tls := c.config, c.config.TLSClientConfig
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, errors.New("the credentials come from a program or a plugin, and cannot be passed on; use --rancher-url with a token")
	}
	proxy := "" // leaves it to the environment, which other programs have as well
	if config.Proxy != nil {
		base, _ := url.Parse(c.base) // it was one of a URL
		at, err := config.Proxy(&http.Request{Method: http.MethodGet, URL: base})
		if err != nil {
			return nil, err
		}
		if at != nil {
			proxy = at.String()
		}
	}
	out := api.NewConfig()
	out.Clusters[name] = &api.Cluster{
		Server: c.base, InsecureSkipTLSVerify: tls.Insecure, TLSServerName: tls.ServerName, ProxyURL: proxy,
		CertificateAuthority: tls.CAFile, CertificateAuthorityData: tls.CAData,
	}
	as := config.Impersonate
	user := &api.AuthInfo{
		Token: config.BearerToken, TokenFile: config.BearerTokenFile, Username: config.Username, Password: config.Password,
		ClientCertificate: tls.CertFile, ClientCertificateData: tls.CertData, ClientKey: tls.KeyFile, ClientKeyData: tls.KeyData,
		Impersonate: as.UserName, ImpersonateUID: as.UID, ImpersonateGroups: as.Groups, ImpersonateUserExtra: as.Extra,
	}
	out.AuthInfos[name] = user
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	files := append(clientcmd.GetClusterFileReferences(out.Clusters[name]), clientcmd.GetAuthInfoFileReferences(user)...)
	_ = clientcmd.ResolvePaths(files, here) // it joins paths, which cannot fail
	return clientcmd.Write(*out)
}
