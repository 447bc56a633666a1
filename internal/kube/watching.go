// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// Config is the configuration of the client for other clients of client-go, which watch. They
// send at most so many requests per second.
func (c *Client) Config(perSecond float32) *rest.Config {
	config := rest.CopyConfig(c.config)
	config.QPS, config.Burst = perSecond, 2*int(perSecond)
	config.AcceptContentTypes, config.NegotiatedSerializer, config.WarningHandler = "", nil, nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bounded{next, c.bounds.answer} })
	return config
}
