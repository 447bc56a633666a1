// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Connection names a cluster as kubectl does.
type Connection struct {
	Kubeconfig string // "" for KUBECONFIG, or the usual file
	Context    string // "" for the current one
	UserAgent  string
	// Rancher is the address of a Rancher, whose own cluster is meant; then Token
	// is needed, and Kubeconfig and Context say nothing.
	Rancher, Token string
	// Authority is a file with the certificate that signed the server's, and
	// AuthorityData what such a file holds; without both the system's are trusted,
	// or those of the kubeconfig.
	Authority     string
	AuthorityData []byte
	// Insecure takes any certificate: whoever answers then gets the token.
	Insecure bool
	// Patience is for how long a request is tried again.
	Patience time.Duration
	// Silence is for how long an answer may stand still, before it counts as lost;
	// 20 seconds, unless set.
	Silence time.Duration
}

// ErrConfig says that the configuration names no cluster.
var ErrConfig = errors.New("no cluster to connect to")

// Connect makes a client; it does not speak to the cluster yet. It fails with
// ErrConfig.
func Connect(c Connection) (*Client, error) {
	if c.Rancher != "" {
		return newClient(c.rancher(), c)
	}
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w; name a file with --kubeconfig or KUBECONFIG, and a context with --context", ErrConfig, err)
	}
	config.UserAgent = c.UserAgent
	if c.Authority != "" || c.Insecure {
		config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile = nil, c.Authority
		config.Insecure = c.Insecure
	}
	return newClient(config, c)
}

// rancher goes through Rancher's plain Kubernetes route to its own cluster.
func (c Connection) rancher() *rest.Config {
	return &rest.Config{
		Host: strings.TrimSuffix(c.Rancher, "/") + clusterRoute + "local", BearerToken: c.Token, UserAgent: c.UserAgent,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.Authority, CAData: c.AuthorityData, Insecure: c.Insecure},
	}
}

func (c Connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
}

// Contexts lists the contexts of a configuration, sorted. It fails with ErrConfig.
func Contexts(c Connection) ([]string, error) {
	raw, err := c.loader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: there is no context; name a file with --kubeconfig or KUBECONFIG", ErrConfig)
	}
	return names, nil
}

// newClient turns a configuration into a client.
func newClient(config *rest.Config, c Connection) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	h := *shared // it may be that of the whole program
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		http: &h, base: strings.TrimSuffix(base.String(), "/"), patience: c.Patience,
		silence: cmp.Or(c.Silence, silentTime), tokens: credentialsOf(config), config: config,
	}, nil
}

// clusterRoute is the part of an address behind which a Rancher has a cluster's
// API server.
const clusterRoute = "/k8s/clusters/"

// Through returns a client for another cluster behind the same Rancher; false where
// the server was not reached through one.
func (c *Client) Through(id string) (*Client, bool) {
	rancher, _, through := strings.Cut(c.base, clusterRoute)
	if !through {
		return nil, false
	}
	return &Client{
		http: c.http, base: rancher + clusterRoute + url.PathEscape(id), patience: c.patience,
		silence: c.silence, tokens: c.tokens, config: c.config,
	}, true
}

// Address is where the server is.
func (c *Client) Address() string { return c.base }
