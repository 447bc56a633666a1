// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/rke-lm/rke-lm/lab/cluster"
)

// proxy runs in front of an API server and counts what passes. It speaks HTTP/2 as the server does, passes
// answers on compressed as they come, and holds nothing back.
type proxy struct {
	*httptest.Server
	token           string
	requests, bytes atomic.Int64 // bytes are those of the answers' bodies
}

func startProxy(to *rest.Config) (*proxy, error) {
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, err
	}
	// Without credentials: callers have their own.
	transport, err := rest.TransportFor(&rest.Config{Host: to.Host, TLSClientConfig: to.TLSClientConfig, DisableCompression: true})
	if err != nil {
		return nil, err
	}
	p := &proxy{token: to.BearerToken}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1}
	forward.ModifyResponse = func(r *http.Response) error {
		p.requests.Add(1)
		r.Body = counted{r.Body, &p.bytes}
		return nil
	}
	p.Server = httptest.NewUnstartedServer(forward)
	p.EnableHTTP2 = true
	p.StartTLS()
	return p, nil
}

// counted counts what is read.
type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// kubeconfig writes a configuration that leads through the proxy.
func (p *proxy) kubeconfig(file string) (string, error) {
	return cluster.WriteKubeconfig(file, &api.Cluster{Server: p.URL, CertificateAuthorityData: authority(p.Certificate().Raw)}, p.token)
}
