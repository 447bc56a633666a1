// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"net/url"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

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
